const TYPED = 'input, textarea, select, [contenteditable="true"], [role="dialog"], [role="combobox"]';
const MOVED = '[role="slider"], [role="radiogroup"], [role="listbox"], [role="grid"], [data-testid="stButtonGroup"]';
export default function({data, setStateValue, parentElement}) {
  const queue = window.wfDesk ??= {browser: Math.random().toString(36).slice(2), last: 0, pressed: []};
  if (queue.desk !== data.desk) Object.assign(queue, {desk: data.desk, pressed: []});
  if (data.browser === queue.browser) queue.pressed = queue.pressed.filter(([number]) => number > data.taken);
  const said = parentElement.querySelector('.wf-pressed');
  const tell = () => { said.textContent = queue.pressed.length
    ? `Recording ${queue.pressed.length} key${queue.pressed.length > 1 ? 's' : ''} …` : '' };
  const press = event => {
    const arrow = event.key.startsWith('Arrow'), at = event.target;
    const key = arrow ? event.key : event.key.toLowerCase();
    if (!data.keys.includes(key) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (at.closest?.(TYPED) || (arrow && at.closest?.(MOVED)) || (event.repeat && !arrow)) return;
    event.preventDefault();
    queue.pressed.push([++queue.last, key]);
    tell();
    setStateValue('queue', {desk: queue.desk, browser: queue.browser, pressed: queue.pressed});
  };
  document.removeEventListener('keydown', queue.press);
  document.addEventListener('keydown', press);
  queue.press = press;
  tell();
  return () => { document.removeEventListener('keydown', queue.press); };
}
