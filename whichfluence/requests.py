"""Any analysis of the command line, in Python: the same request, its answer as a dataclass of tables and arrays."""

from __future__ import annotations

from typing import Any

import pandas as pd

from engine.analysis.catalogue import REQUESTS, request, summary
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import Problem


def analyse(problem: Problem, name: str, options: Options | None = None, **fields: Any) -> Any:
    """The answer to a request, computed in this process.

    Args:
        problem: as `wf.problem` or `wf.draw` makes it.
        name: of the analysis, as `wf.analyses()` lists it.
        options: `wf.Options(budget=…, precision=…, progress=…)`.
        fields: its parameters; `wf.analyses()` names them.

    Returns:
        A dataclass of tables, arrays and plain values.

    Raises:
        InvalidInput: for an unknown analysis or parameter, and for what cannot be asked of the problem.

    >>> import whichfluence as wf
    >>> problem = wf.draw("digits", n_train=60, n_queries=5, n_candidates=8)
    >>> wf.analyse(problem, "embedding", dimensions=2).coordinates.shape
    (60, 2)
    """
    if problem.reads == "targets":
        raise InvalidInput(f"`{name[:40]}` is an analysis of classifiers and language models, and this is "
                           f"{problem.noun}; ask `influence`, `self_influence`, `compare`, `explain` or `stream`.")
    return request(name).parse(fields).run(problem, options)


def analyses() -> pd.DataFrame:
    """Every analysis: name, its parameters, and what it does.

    >>> import whichfluence as wf
    >>> "embedding" in set(wf.analyses().name)
    True
    """
    rows = [(name, ", ".join(request(name).options()), summary(name)) for name in REQUESTS]
    return pd.DataFrame(rows, columns=["name", "parameters", "what"])
