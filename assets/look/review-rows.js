export default function({data}) {
  const desk = window.wfReview ??= {pages: {}, draw: () => {}};
  desk.pages[data.view] = {...desk.pages[data.view], ...data.pages};
  desk.draw();
}
