export default function({data, setTriggerValue, parentElement}) {
  const place = parentElement.querySelector('.wf-matrix-place'), had = document.activeElement;
  const key = place.contains(had) ? had.dataset.key : null;
  if (place.wfHtml !== data.html) {
    const open = place.querySelector('details[open]')?.dataset.key;
    place.innerHTML = place.wfHtml = data.html;
    if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
    if (open && !key) place.querySelector(`details[data-key="${CSS.escape(open)}"]`)?.setAttribute('open', '');
  }
  const cells = () => [...place.querySelectorAll('.wf-cell')];
  const pick = chosen => cells().forEach(cell => {
    const same = new Set([cell.dataset.row + ' ' + cell.dataset.column, cell.dataset.column + ' ' + cell.dataset.row]);
    cell.setAttribute('aria-pressed', same.has(chosen.dataset.row + ' ' + chosen.dataset.column)) });
  place.onclick = event => {
    const pressed = event.target.closest('button');
    if (!pressed) return;
    if (pressed.dataset.go) {
      document.querySelector(pressed.dataset.go)?.scrollIntoView({behavior: 'smooth', block: 'start'});
      return;
    }
    if (pressed.matches('.wf-cell')) pick(pressed);
    const menu = pressed.closest('details');
    if (menu) { menu.open = false; menu.querySelector('summary').focus({preventScroll: true}) }
    const {act, row, column} = pressed.dataset;
    setTriggerValue('act', {act, row: Number(row), column: Number(column ?? 0), list: data.list});
  };
  place.onkeydown = event => {
    const menu = event.target.closest('details[open]');
    if (menu && event.key === 'Escape') { menu.open = false; menu.querySelector('summary').focus(); return }
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    const at = event.target.closest('.wf-cell');
    if (!step || !at) return;
    event.preventDefault();
    let [row, column] = [Number(at.dataset.row) + step[0], Number(at.dataset.column) + step[1]];
    if (row === column) [row, column] = [row + step[0], column + step[1]];
    const next = place.querySelector(`.wf-cell[data-row="${row}"][data-column="${column}"]`);
    if (next) { cells().forEach(cell => { cell.tabIndex = -1 }); next.tabIndex = 0; next.focus() }
  };
  place.onfocusout = event => {
    const menu = event.target.closest('details[open]');
    if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  };
}
