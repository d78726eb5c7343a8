const TYPED = 'input:not([type=radio]), textarea, select, [contenteditable="true"], [role="dialog"], [role="combobox"]';
const MOVED = '[role="slider"], [role="radiogroup"], input[type=radio], [data-testid="stButtonGroup"]';
export default function({data}) {
  const held = window.wfPresenter ??= {};
  const press = event => {
    const at = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (at.closest?.(TYPED)) return;
    if ((key.startsWith('Arrow') || key === ' ') && at.closest?.(MOVED)) return;
    if (key === ' ' && at.closest?.('button, a')) return;
    if (key === 'f') {
      if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen();
    }
    const button = data[key] && document.querySelector(`.st-key-${data[key]} button:not(:disabled)`);
    if (!button) return;
    event.preventDefault();
    button.click();
  };
  document.removeEventListener('keydown', held.press);
  document.addEventListener('keydown', press);
  held.press = press;
  return () => { document.removeEventListener('keydown', press); };
}
