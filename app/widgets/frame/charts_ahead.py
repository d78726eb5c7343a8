"""The browser's code of the charts, which it runs while the first page is read.

Streamlit sends the code of an element with the first element that needs it, and that of both chart libraries takes a
browser more than a second. `SCRIPT` stands behind that of `base`, does nothing on any other page, and nothing where
Streamlit's files have other names.
"""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from app.widgets.words import look

CODE = Path(st.__file__).parent / "static" / "static" / "js"
FILES = [path.name for name in ("embed", "ArrowVegaLiteChart", "PlotlyChart") for path in CODE.glob(f"{name}.*.js")]
SCRIPT = look.script("charts-ahead").replace("FILES", json.dumps(FILES))
