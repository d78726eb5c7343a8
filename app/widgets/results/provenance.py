"""Where a chart is from, in lines that go into its file: questions, data with seeds, version, command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.widgets.words import labels
from engine.basics.provenance import versions
from engine.desk import ProblemSource
from engine.scoring.scoring import Scoring

MOST_QUESTIONS, MOST_NAMES, MOST_LINES = 4, 8, 2
"""Questions that are written out, specifications that are named, and lines of a command; of more, the names, the first
and the last of them, and the first lines."""
_STATE = "charts:provenance"
Lines = Callable[[], list[str]]


def known() -> dict[str, Lines]:
    """The provenance of the charts of this visitor, by the key of the chart."""
    return st.session_state.setdefault(_STATE, {})


def lines(scorings: Sequence[Scoring], source: ProblemSource | Sequence[ProblemSource] | None, command: str | None,
          about: Sequence[str] = ()) -> list[str]:
    """scorings: of the chart; source: several are the seeds of an average; command: what recomputes it; about: question
    and data in words, where they are no scorings and no source."""
    sources = [source] if isinstance(source, ProblemSource) else list(source or ())
    text = [_data(sources)] if sources else []
    return [*_questions(scorings), *about, *text, version(), *_command(command or "")]


def version() -> str:
    """What made the chart."""
    return f"whichfluence {versions()['whichfluence']}"


def _questions(scorings: Sequence[Scoring]) -> list[str]:
    names = labels.short(scorings) if scorings else []
    if len(scorings) > MOST_QUESTIONS:
        some = names if len(names) <= MOST_NAMES else [*names[:3], "…", names[-1]]
        return [f"{len(scorings)} specifications: {'; '.join(some)}"]
    return [f"{name}: {scoring.question}" for name, scoring in zip(names, scorings, strict=True)]


def _data(sources: Sequence[ProblemSource]) -> str:
    first, seeds = sources[0], ", ".join(str(source.seed) for source in sources)
    sizes = [f"{first.n_train:,} training examples" if first.n_train else "all training examples",
             f"{first.n_queries:,} queries" if first.n_queries else "all queries"]
    return " · ".join([first.title, *sizes, f"seed{'s' if len(sources) > 1 else ''} {seeds}"])


def _command(command: str) -> list[str]:
    written = command.splitlines()
    more = [f"… and {len(written) - MOST_LINES} more lines beside the chart"] if len(written) > MOST_LINES else []
    return [*written[:MOST_LINES], *more]
