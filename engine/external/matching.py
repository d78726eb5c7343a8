"""Which rows and columns of an external table are which queries and training examples; what is not certain is refused
or said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.basics.errors import InvalidInput
from engine.external.table import Table
from engine.problems import Problem

QUERIES, CANDIDATES = "queries", "candidates"
AXES = {QUERIES: "one row per query", CANDIDATES: "one row per training example"}
LISTED, TRAINING = "candidates", "training"
ORDERS = {LISTED: "in the order of the problem's candidates", TRAINING: "in the order of the training set"}
"""How training examples may stand in a table that does not name them."""


def axes_that_fit(problem: Problem, table: Table) -> list[str]:
    """`queries` and `candidates`, of which the shape allows one, both or none: which of them its rows may be."""
    r, c = table.values.shape
    m, sizes = len(problem.queries), {len(problem.candidates), problem.n}
    return [axes for axes, fits in ((QUERIES, r == m and c in sizes), (CANDIDATES, c == m and r in sizes)) if fits]


def check(problem: Problem, table: Table) -> None:
    """Raises `InvalidInput` for a table that is none of this problem, or whose names contradict it under every
    reading."""
    readable(problem, table)


def orders_that_fit(problem: Problem, table: Table, axes: str) -> list[str]:
    """`candidates` and `training`: both where every training example is a candidate, the problem has them in another
    order than its training set, and the table does not name them."""
    across = table.values.shape[1 if axes == QUERIES else 0]
    if across != problem.n or _names(table, axes)[1] is not None:
        return [LISTED]
    if len(problem.candidates) != problem.n:
        return [TRAINING]
    in_order = np.array_equal(problem.candidates.cpu().numpy(), np.arange(problem.n))
    return [LISTED] if in_order else [LISTED, TRAINING]


def readable(problem: Problem, table: Table) -> dict[tuple[str, str], np.ndarray]:
    """(axes, order) -> the table as (queries, candidates), of all that shape and names allow. Raises as `check`."""
    arrangements, faults = {}, []
    for axes in axes_that_fit(problem, table):
        try:
            for order in orders_that_fit(problem, table, axes):
                arrangements[axes, order] = arranged(problem, table, axes, order)
        except InvalidInput as error:
            faults.append(error)
    if not arrangements:
        raise faults[0] if faults else InvalidInput(_misfit(problem, table))
    return arrangements


def arranged(problem: Problem, table: Table, axes: str, order: str = LISTED) -> np.ndarray:
    """The table as (queries, candidates) of the problem: turned, put in the order that its names say, or `order`
    where it has none, the candidates picked. Raises `InvalidInput` for a shape that does not fit, and for names that
    are not those of the problem."""
    if axes not in axes_that_fit(problem, table):
        raise InvalidInput(_misfit(problem, table))
    values = table.values if axes == QUERIES else table.values.T
    queries, examples = _names(table, axes)
    if queries is not None:
        values = values[_query_order(queries)]
    candidates = problem.candidates.cpu().numpy()
    if examples is not None:
        return values[:, _columns(examples, candidates)]
    fits = orders_that_fit(problem, table, axes)
    return values[:, candidates] if TRAINING in fits and (order == TRAINING or len(fits) == 1) else values


def _names(table: Table, axes: str) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(what names the queries, what names the training examples); None where nothing does."""
    r, c = table.values.shape
    across, down = table.candidates, table.rows
    if axes == QUERIES:
        return down, None if across is None or len(across) != c else across
    if down is None and across is not None and len(across) == r:  # beside an array of an npz
        return None, across
    return across, down


def remarks(table: Table) -> list[str]:
    """What the reader should know of how names were read, as sentences."""
    return [text for text in (table.first_row.remark, table.remark) if text]


def unusable_sentence(queries: Sequence[int]) -> str:
    """Which queries are left out, as a sentence; empty where none is."""
    if not len(queries):
        return ""
    shown = ", ".join(f"{query:,}" for query in queries[:10]) + (", …" if len(queries) > 10 else "")
    which = f"Query {shown} is" if len(queries) == 1 else f"{len(queries):,} queries ({shown}) are"
    return f"{which} left out: fewer than half of the scores are finite numbers (queries are counted from 0)."


def _query_order(names: np.ndarray) -> np.ndarray:
    """Where each query of the problem stands. Raises `InvalidInput` where the names are not 0 to m−1."""
    if not np.array_equal(np.sort(names), np.arange(len(names))):
        odd = next((int(name) for name in names if not 0 <= name < len(names)), int(names[0]))
        raise InvalidInput(f"The queries are numbered {odd:,} and others, but those of the problem are 0 to "
                           f"{len(names) - 1:,}; number them by their rows of `x_query`, each once.")
    return np.argsort(names)


def _columns(names: np.ndarray, candidates: np.ndarray) -> list[int]:
    """Where each candidate stands. Raises `InvalidInput` where one is absent or stands there twice."""
    column = {int(row): at for at, row in enumerate(names)}
    if len(column) < len(names):
        raise InvalidInput("The file names a training example twice; name each once.")
    absent = [int(row) for row in candidates if int(row) not in column]
    if absent:
        raise InvalidInput(f"The file has no scores of training example {absent[0]}, which is a candidate; give "
                           "all candidates of the problem, named by their rows of `x_train`.")
    return [column[int(row)] for row in candidates]


def _misfit(problem: Problem, table: Table) -> str:
    r, c = table.values.shape
    m, k, n = len(problem.queries), len(problem.candidates), problem.n
    whole = f", or all {n:,} training examples" if n != k else ""
    read = f" {table.first_row.remark}" if table.first_row.remark else ""
    if r == m and c in (2 * k, 2 * n) or r in (k, n) and c == 2 * m:
        return (f"The table has {c:,} columns, twice as many as expected, as when decimal commas split numbers; "
                f"write decimal points, or semicolons as separators, for {m:,} queries and {k:,} candidates{whole}."
                f"{read}")
    return (f"The table is {r:,} × {c:,}, but the problem has {m:,} queries and {k:,} candidates{whole}; import "
            f"scores of this problem, or choose the problem that they were computed on.{read}")
