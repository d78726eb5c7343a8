"""Tables of text as programs write them: encoding, separator and decimal mark, seen from their first rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice

SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
SAMPLE, ROWS = 65_536, 50
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SPACES = " \u00a0\u2009\u202f"
"""What stands between thousands, beside marks."""
_COMMA = re.compile(rf"[+-]?(\d{{1,3}}([.{SPACES}]\d{{3}})+|\d*),\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a table of text is written. heading: characters before the table, Excel's `sep=;`."""

    encoding: str = "utf-8-sig"
    separator: str = ","
    decimal: str = "."
    heading: int = 0

    @property
    def sentence(self) -> str:
        """What is unlike a plain CSV in UTF-8; empty where nothing is."""
        unlike = [self.encoding.upper() if self.encoding != "utf-8-sig" else "",
                  f"{SEPARATORS[self.separator]} between cells" if self.separator != "," else "",
                  "a decimal comma" if self.decimal == "," else ""]
        return f"The text was read with {', '.join(filter(None, unlike))}." if any(unlike) else ""

    def text(self, content: bytes) -> str:
        """The table as text. Bytes that the encoding has not are replaced."""
        return content.decode(self.encoding, "replace")[self.heading:]


def dialect_of(content: bytes) -> Dialect:
    """The dialect that the first rows show: the separator with which they all have as many cells."""
    head = content[:SAMPLE]
    encoding = _encoding(content, head)
    text = head.decode(encoding, "ignore")
    declared = re.match(r"sep=(.)\r?\n", text)
    heading = declared.end() if declared else 0
    separators = [declared[1]] if declared and declared[1] in SEPARATORS else SEPARATORS
    for separator in separators:
        rows = _rows(text[heading:], separator, cut=len(content) > SAMPLE)
        widths = [len(row) for row in rows]
        if widths and min(widths) > 1 and len({*widths[1:]}) < 2 and max(widths) - widths[0] in (0, 1):
            return Dialect(encoding, separator, _decimal(rows) if separator != "," else ".", heading)
    return Dialect(encoding, heading=heading)


def plain(content: bytes) -> tuple[bytes, str]:
    """(the table as a CSV in UTF-8 with commas and decimal points, what was unlike one, as a sentence)."""
    dialect = dialect_of(content)
    if dialect == Dialect():
        return content, ""
    rows = csv.reader(io.StringIO(dialect.text(content), newline=""), delimiter=dialect.separator)
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(
        [_point(cell) for cell in row] if dialect.decimal == "," else row for row in rows)
    return out.getvalue().encode(), dialect.sentence


def _encoding(content: bytes, head: bytes) -> str:
    if head.startswith(_UTF16):
        return "utf-16"
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):  # without its mark, but every other byte of plain
        if head[first::2].count(0) > len(head) // 3:              # letters is zero
            return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), 1 << 20):
            decoder.decode(content[start:start + (1 << 20)])
        return "utf-8-sig"
    except UnicodeDecodeError:
        return "cp1252"


def _rows(text: str, separator: str, cut: bool) -> list[list[str]]:
    try:
        rows = [row for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), ROWS) if row]
    except csv.Error:
        return []
    return rows[:-1] if cut and 1 < len(rows) < ROWS else rows


def _decimal(rows: list[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    if any(_POINT.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for cell in cells):
        return "."
    return "," if any(map(_COMMA.fullmatch, cells)) else "."


def _point(cell: str) -> str:
    own = cell.strip()
    if _COMMA.fullmatch(own):
        return re.sub(f"[.{SPACES}]", "", own).replace(",", ".")
    return own.replace(".", "") if _THOUSANDS.fullmatch(own) else cell
