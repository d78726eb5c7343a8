"""Where the server lies below a page's address, for the browser.

Streamlit's code looks for it below the address of the page first (`/compare/_stcore/health`) and takes a 404 for a no.
The address without the page's name is the answer, whatever stands before it: a base path of the server, or a proxy's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.widgets.words import look

_SCRIPT = look.script("base")


def script(pages: Sequence[str]) -> str:
    """The script that tells it, for the pages of these names in the address."""
    return _SCRIPT.replace("PAGES", json.dumps(list(pages)))
