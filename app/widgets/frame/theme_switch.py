"""Light or dark by one button, on every page and for the next visit.

Streamlit follows the system and reads a reader's own choice once, when a page opens, from a place of the browser's
storage that it keeps for each address. `SCRIPT` stands in the page before Streamlit's code and puts the choice there;
the button changes it and opens the page anew, of which everything that was chosen stands in the address.
"""

from __future__ import annotations

import streamlit as st

SCRIPT = """<script>
(() => {
  const place = `stActiveTheme-${location.pathname}-v2`, chosen = localStorage.getItem('wfTheme');
  if (chosen === 'Light' || chosen === 'Dark') localStorage.setItem(place, JSON.stringify(chosen));
})();
</script>"""

_BUTTON = """
export default function({parentElement}) {
  const button = parentElement.querySelector('button'), scheme = getComputedStyle(document.querySelector('.stApp'));
  const dark = () => scheme.colorScheme.includes('dark');
  const tell = () => { button.textContent = dark() ? '☀ Light' : '☾ Dark';
    button.setAttribute('aria-label', dark() ? 'Use the light theme' : 'Use the dark theme') };
  button.onclick = () => { localStorage.setItem('wfTheme', dark() ? 'Light' : 'Dark'); location.reload() };
  tell();
}
"""
_STYLE = """
.wf-theme { all: unset; cursor: pointer; font: inherit; font-size: .88rem; padding: .25rem .6rem; border-radius: 6px;
  color: inherit; border: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.wf-theme:hover { background: color-mix(in srgb, currentColor 8%, transparent); }
.wf-theme:focus-visible { outline: 2px solid light-dark(#0072B2, #56B4E9); outline-offset: 2px; }
"""
_component = st.components.v2.component(
    "whichfluence_theme", html='<button type="button" class="wf-theme"></button>', css=_STYLE, js=_BUTTON,
    isolate_styles=False)


def show() -> None:
    """The button."""
    with st.container(key="wf-theme", width="content"):
        _component(key="theme-switch", width="content", height="content")
