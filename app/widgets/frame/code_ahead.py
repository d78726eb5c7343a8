"""The browser's code of inputs, tables and charts, which it runs while the first page is read.

Streamlit sends the code of a kind of element with the first one of it; that of tables, of code and of both chart
libraries takes a browser more than a second. `SCRIPT` stands behind that of `base`, and does nothing where Streamlit's
files have other names.
"""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from app.widgets.words import look

CODE = Path(st.__file__).parent / "static" / "static" / "js"
NAMES = ("ButtonGroup", "Selectbox", "Checkbox", "TextInput", "NumberInput", "TextArea", "Slider", "Metric",
         "FileUploader", "DownloadButton", "embed", "ArrowVegaLiteChart", "DataFrame", "PlotlyChart",
         "StreamlitSyntaxHighlighter")
FILES = [path.name for name in NAMES for path in CODE.glob(f"{name}.*.js")]
SCRIPT = look.script("code-ahead").replace("FILES", json.dumps(FILES))
