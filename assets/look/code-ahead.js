(() => {
  const base = window.__streamlit.BACKEND_BASE_URL, idle = window.requestIdleCallback ?? setTimeout;  // not in Safari
  const still = () => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning';
  const soon = () => new Promise(done => {  // a page that is being drawn goes first
    const look = () => still() ? idle(done) : setTimeout(look, 300);
    look();
  });
  const load = async () => {
    for (const file of FILES) {
      await soon();
      await import(`${base}static/js/${file}`).catch(() => {});
    }
    await soon();
    await rehearse();
  };
  const rehearse = async () => {  // a browser compiles what draws a first figure: this one is nowhere on the page
    const nowhere = document.createElement('div'), dots = {type: 'scatter', mode: 'markers', x: [0, 1], y: [0, 1]};
    const axis = {title: {text: ' '}};
    await window.Plotly?.newPlot(nowhere, [{...dots, name: 'a'}, {...dots, name: 'b'}], {width: 400, height: 300,
      xaxis: axis, yaxis: axis, legend: {orientation: 'h'}, clickmode: 'event+select'}, {displaylogo: false});
    window.Plotly?.purge(nowhere);
  };
  addEventListener('load', () => setTimeout(load, 1000));
})();
