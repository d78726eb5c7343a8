"""Signs that the parts of the Paper page share."""

from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED

MARKS = {CONFIRMED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}
TABLE_ANCHOR = "cell-by-cell"
"""Where the cells of the chosen table stand, for links from the lists above it."""
