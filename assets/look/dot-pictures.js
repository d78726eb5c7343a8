const SIDE = 84, AREA = '.st-key-wf-dots';
const card = () => document.querySelector('.wf-hovered');
const hide = () => { if (card()) card().hidden = true };
const show = told => {
  const chart = told.event?.target?.closest?.('.js-plotly-plot') ?? document.querySelector('.js-plotly-plot:hover');
  const sheet = chart?.closest(AREA)?.wfSheet, at = sheet?.places.get(told.points[0]?.customdata), picture = card();
  if (at === undefined || !picture) return hide();
  const {url, across, wide, high} = sheet, scale = SIDE / Math.max(wide, high);
  const [width, height] = [wide * scale, high * scale];
  picture.hidden = false;
  Object.assign(picture.style, {width: `${width}px`, height: `${height}px`, backgroundImage: `url(${url})`,
    backgroundSize: `${across * width}px auto`,
    backgroundPosition: `${-(at % across) * width}px ${-Math.floor(at / across) * height}px`});
  requestAnimationFrame(() => {
    const label = chart.querySelector('g.hovertext')?.getBoundingClientRect();
    if (!label) return hide();
    const above = label.top - height - 6;
    Object.assign(picture.style, {left: `${Math.max(4, Math.min(label.left, innerWidth - width - 8))}px`,
      top: `${above > 4 ? above : label.bottom + 6}px`});
  });
};
const listen = event => {
  const chart = event.target.closest?.('.js-plotly-plot');
  if (!chart?.on) return;
  for (const [name, act] of [['plotly_hover', show], ['plotly_unhover', hide]]) {
    chart.removeListener(name, act);
    chart.on(name, act);
  }
};
export default function({data, parentElement}) {
  const area = parentElement.closest(AREA);
  area.wfSheet = {...data, places: new Map(data.rows.map((row, place) => [row, place]))};
  area.addEventListener('pointerover', listen, true);
  return () => { hide(); area.removeEventListener('pointerover', listen, true) };
}
