"""One step of the browser's history for one act of the reader, and a way back that undoes it.

Streamlit adds an entry for every parameter that a page writes into its address: a page that opens with ten defaults
leaves ten entries behind, a click some more. `SCRIPT` stands in the page before Streamlit's own code: an entry that no
act of the reader has called for takes the place of the one before it. When the reader goes back or forward, it marks
the address with `GONE`, so that what the address says is known to be meant, and not a late echo of what was replaced.
"""

from __future__ import annotations

from app.widgets.words import look

GONE = "gone"

SCRIPT = look.script("history").replace("GONE", GONE)
