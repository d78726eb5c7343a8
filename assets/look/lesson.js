const TYPED = 'input:not([type=radio], [type=checkbox], [type=range]), textarea, select, [contenteditable="true"], [role="dialog"], [role="combobox"]';
const MOVED = '[role="slider"], input[type=range], [data-testid="stButtonGroup"]';
const OPEN = '[data-testid="stPopoverBody"], [role="dialog"]';
const remember = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=43200; SameSite=Strict`;
};
const scale = () => {
  const size = Math.min(innerWidth / 1280, innerHeight / 720);
  return innerWidth < 900 ? .65 : Math.min(4, Math.max(1, Math.floor(size * 4) / 4));
};
export default function({data, setStateValue}) {
  const shared = window.wfLesson ??= {};
  remember('wf-visitor', data.visitor);
  const fit = () => {
    remember('wf-scale', scale());
    if (data.projector && scale() !== data.scale) setStateValue('scale', scale());
  };
  const press = event => {
    const at = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (at.closest?.(TYPED)) return;
    if (key.startsWith('Arrow') && at.closest?.(MOVED)) return;
    if (key === ' ' && at.closest?.('button, a, input, [role="radiogroup"], ' + MOVED)) return;
    if (key === 'f' && data.projector && !event.repeat) {
      if (document.fullscreenElement) document.exitFullscreen(); else document.documentElement.requestFullscreen();
    }
    if (!data.keys[key] || key === 'Escape' && document.querySelector(OPEN)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) document.querySelector(`.st-key-${data.keys[key]} button:not(:disabled)`)?.click();
  };
  const grab = event => {  // so that a finger moves what lies below it, and not what it first touched
    const at = event.target;
    if (at.closest?.('.st-key-learn-plane') && at.hasPointerCapture?.(event.pointerId))
      at.releasePointerCapture(event.pointerId);
  };
  let timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(fit, 250); };
  document.removeEventListener('keydown', shared.press, true);
  document.removeEventListener('pointerdown', shared.grab, true);
  removeEventListener('resize', shared.later);
  document.addEventListener('keydown', press, true);
  document.addEventListener('pointerdown', grab, true);
  addEventListener('resize', later);
  Object.assign(shared, {press, grab, later});
  fit();
  return () => {
    document.removeEventListener('keydown', press, true);
    document.removeEventListener('pointerdown', grab, true);
    removeEventListener('resize', later);
  };
}
