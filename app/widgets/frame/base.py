"""Where the server lies below a page's address, told to the browser.

Streamlit's code looks for it below the address of the page first (`/compare/_stcore/health`) and takes a 404 for a no.
The address without the page's name is the answer, whatever stands before it: a base path of the server, or a proxy's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

_SCRIPT = """<script>
(() => {
  const parts = location.pathname.split('/'), last = parts.findLastIndex(part => part);
  const base = PAGES.includes(parts[last]) ? parts.slice(0, last) : parts;
  const address = location.origin + base.filter(part => part).map(part => `/${part}`).join('') + '/';
  window.__streamlit = {...window.__streamlit, BACKEND_BASE_URL: address};
})();
</script>"""


def script(pages: Sequence[str]) -> str:
    """The script that tells it, for the pages of these names in the address."""
    return _SCRIPT.replace("PAGES", json.dumps(list(pages)))
