"""Where a page begins again: what follows on what was read is read from its beginning.

Streamlit keeps how far a page is scrolled while its content is exchanged, and whoever pressed *Next* stands at the foot
of what comes next.
"""

from __future__ import annotations

import json

import streamlit as st

_BEGIN = """<script>
if (window.wfShown !== undefined && window.wfShown !== %(shown)s)
  document.querySelector('[data-testid="stMain"]').scrollTop = 0;
window.wfShown = %(shown)s;
</script>"""


def begin(shown: str) -> None:
    """Scroll to the top of the page where it shows something else than before; call it above what is shown."""
    quoted = json.dumps(shown).replace("<", "\\u003c")
    with st.container(key="wf-top"):
        st.html(_BEGIN % {"shown": quoted}, unsafe_allow_javascript=True)
