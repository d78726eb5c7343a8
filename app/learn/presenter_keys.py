"""Keys of a presenter and of what they hold in the hand: they press the buttons that stand on the page."""

from __future__ import annotations

import streamlit as st

ON, BACK, LEAVE, THEME = "wf-class-on", "wf-class-back", "wf-class-leave", "wf-theme"
KEYS = {"ArrowRight": ON, "PageDown": ON, " ": ON, "ArrowLeft": BACK, "PageUp": BACK, "Escape": LEAVE, "t": THEME}
"""Key: the container whose button it presses. `f` fills the screen and gives it back."""
_SCRIPT = """
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
"""
_listen = st.components.v2.component("whichfluence_presenter_keys", js=_SCRIPT, html="<span></span>",
                                     isolate_styles=False)


def listen() -> None:
    """Let the keys act."""
    with st.container(key="wf-presenter"):
        _listen(key="presenter-keys", data=KEYS)
