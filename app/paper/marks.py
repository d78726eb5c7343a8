"""Signs that the parts of the Paper page share."""

from urllib.parse import urlencode

from app.widgets.frame import top
from engine.desk.published import AS_PAPER, CONFIRMED, CONTRADICTED, UNDECIDED

MARKS = {CONFIRMED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}
TABLE_ANCHOR = "cell-by-cell"
"""Where the cells of the chosen table stand, for links from the lists above it."""


def cells_address(experiment: str, preset: str, whose: str) -> str:
    """The address of this page at the cells of a table; without a preset at the scale that it opens with."""
    return "?" + urlencode({"experiment": experiment, **({"preset": preset} if preset else {}),
                            **({} if whose == AS_PAPER else {"as": whose}), top.AT: TABLE_ANCHOR})
