"""Every chart comes with its table, its CSV, the specifications as JSON and the command that recomputes it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.widgets.words import chips, glossary
from engine.basics.csv_text import csv_text
from engine.basics.folders import carried
from engine.models.own_architecture import declared
from engine.problems import ProblemSource
from engine.problems.source import SOFTMAX
from engine.question import direction
from engine.requests import Request
from engine.scoring.scoring import Scoring


def file_button(label: str, content: Callable[[], str | bytes], name: str, mime: str, key: str,
                icon: str = ":material/download:", **more: Any) -> None:
    """A file to keep: `content` gives it when it is clicked, and the page does not run again for it.

    Nothing is kept for a button that nobody clicks; so the browser has no address that the next run of the page
    would take away while it looks there. `more` is what `st.download_button` takes besides.
    """
    st.download_button(label, carried(content), name, mime, key=key, icon=icon, on_click="ignore", **more)


def chart_extras(name: str, table: pd.DataFrame, scorings: Sequence[Scoring] = (),
                 source: ProblemSource | Sequence[ProblemSource] | None = None, command: str | None = None,
                 title: str = "Table, downloads and the command that recomputes this", quantity: str = "") -> None:
    """The row below a chart: the table itself, CSV, spec JSON and command. `name` is the file stem; several
    sources are the seeds of an average; `title` is what stands on it; `quantity`: what its numbers with a sign are,
    which the CSV has as a column."""
    kept = table.assign(**{direction.QUANTITY: quantity}) if quantity else table
    with st.expander(title):
        if quantity:
            chips.note(quantity)
        st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns))
        with st.container(horizontal=True):
            file_button("CSV", partial(csv_text, kept), f"{name}.csv", "text/csv", f"csv:{name}")
            if scorings:
                file_button("Specifications (JSON)", partial(specs_json, scorings), f"{name}-specs.json",
                            "application/json", f"json:{name}", icon=":material/data_object:")
        text = command or (recompute(source, name) if source is not None else None)
        if text:
            st.code(text, language="bash", wrap_lines=True)


def oriented(names: Sequence[str], scorings: Sequence[Scoring]) -> str:
    """What the oriented scores in the columns of several scorings are, by their names."""
    return direction.named({name: direction.exported(scoring) for name, scoring in zip(names, scorings, strict=True)
                            if scoring.route.implies})


def of_two(scorings: Sequence[Scoring]) -> str:
    """The same of two rankings beside one another."""
    return oriented(("score_a", "score_b"), scorings)


def specs_json(scorings: Sequence[Scoring]) -> str:
    """specs.json as the command line reads it: a list of named specifications."""
    names = _distinct([scoring.title for scoring in scorings])
    listed = [{"name": name, "spec": scoring.model_dump(mode="json")}
              for name, scoring in zip(names, scorings, strict=True)]
    return json.dumps(listed, indent=2, ensure_ascii=False)


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if names.index(name) == place else f"{name} ({place + 1})" for place, name in enumerate(names)]


def recompute(source: ProblemSource | Sequence[ProblemSource], name: str) -> str:
    """The commands that recompute a comparison from the downloaded specifications, for one or several seeds."""
    sources = [source] if isinstance(source, ProblemSource) else list(source)
    lines = []
    for drawn in sources:
        suffix = f"-{drawn.seed}" if len(sources) > 1 else ""
        file, command = problem_file(drawn, suffix)
        lines += [command, f"python -m engine compare --data {file} --specs {name}-specs.json "
                           f"--out {name}{suffix}.csv"]
    return "\n".join(lines)


def score_commands(source: ProblemSource, scorings: Sequence[Scoring]) -> str:
    """The commands that recompute the scores themselves, one file a scoring."""
    file, command = problem_file(source)
    lines = [command]
    for place, scoring in enumerate(scorings):
        spec = shlex.quote(json.dumps(scoring.model_dump(mode="json"), ensure_ascii=False))
        lines += [f"echo {spec} > spec-{place + 1}.json",
                  f"python -m engine influence --data {file} --spec spec-{place + 1}.json "
                  f"--out scores-{place + 1}.npz"]
    return "\n".join(lines)


def request_command(request: Request, source: ProblemSource) -> str:
    """The commands that ask the same of the same problem, and write what is asked for first."""
    file, write = problem_file(source)
    named = request.command or request.name
    return f"{write}\n" + shlex.join(["python", "-m", "engine", named, "--data", file, *request.words, "--out",
                                      f"{named}.csv"])


def problem_file(source: ProblemSource, suffix: str = "") -> tuple[str, str]:
    """(file, command that writes it): the arrays of softmax regression; of a network, what it is trained from."""
    text = shlex.quote(source.model_dump_json(exclude_defaults=True))
    if source.model != SOFTMAX:
        return f"problem{suffix}.json", f"{declaration(source.model)}echo {text} > problem{suffix}.json"
    return f"problem{suffix}.npz", f"python -m engine export-problem --source {text} --out problem{suffix}.npz"


def declaration(model: str) -> str:
    """The line that makes a model of the user's own known to the commands after it; empty for other models."""
    own = declared()
    return f"{own.shell}\n" if own and own.module and own.name == model else ""
