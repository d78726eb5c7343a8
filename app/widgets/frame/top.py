"""Where a page begins: what follows on what was read is read from its beginning, and a link may name a heading.

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


AT = "at"
"""The parameter of an address that names the heading at which the page shall open. Streamlit drops what stands behind
a `#` as soon as a page writes into its address."""

_ARRIVE = """<script>
document.getElementById(%(anchor)s)?.scrollIntoView({block: 'start'});
</script>"""


def arrive(anchor: str) -> None:
    """Scroll to this heading where the address asks for it, once; call it below everything that stands above it."""
    if st.query_params.get(AT) != anchor:
        return
    st.query_params.pop(AT)
    with st.container(key="wf-arrive"):
        st.html(_ARRIVE % {"anchor": json.dumps(anchor)}, unsafe_allow_javascript=True)
