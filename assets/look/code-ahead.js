(() => {
  const base = window.__streamlit.BACKEND_BASE_URL;
  const next = files => files.length && requestIdleCallback(() => import(`${base}static/js/${files[0]}`)
    .then(() => next(files.slice(1)), () => {}));
  const idle = () => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning';
  const wait = () => idle() ? next(FILES) : setTimeout(wait, 500);
  addEventListener('load', () => setTimeout(wait, 1000));
})();
