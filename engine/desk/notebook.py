"""A comparison as a notebook whose cells compute it again: nbformat 4.5, without outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pprint import pformat
from typing import Any

from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring

WIDTH = 110


def notebook(name: str, sources: Sequence[ProblemSource], labels: Sequence[str], scorings: Sequence[Scoring],
             pair: tuple[int, int], link: str = "") -> str:
    """The content of an ipynb file. sources: a seed each. labels: a different one for each scoring. pair: the two that
    are explained, in the first seed. Scores of other programs are left out, since only their file has them."""
    computed = {label: one for label, one in zip(labels, scorings, strict=True) if one.route.computes}
    left_out = [label for label in labels if label not in computed]
    said = [f"# {_inline(name)}", "The cells compute the comparison again where `import whichfluence` works."]
    said += [f"The page: <{link}>"] * bool(link)
    said += [f"Left out, as scores of other programs: {', '.join(map(_inline, left_out))}."] * bool(left_out)
    problems = [{"dataset": one.dataset, **one.model_dump(mode="json", exclude_defaults=True)} for one in sources]
    specifications = {label: one.model_dump(mode="json") for label, one in computed.items()}
    cells = [
        _text("\n\n".join(said)),
        _code("import whichfluence as wf\n\n" + _assigned("sources", problems)
              + "\nproblems = [wf.draw(**source) for source in sources]"),
        _text("## The questions"),
        _code(_assigned("specifications", specifications)),
        _text("## Their answers"),
        _code("scores = [wf.influence(problem, specifications) for problem in problems]")]
    if len(computed) > 1:
        cells += [_text("## How far they agree\n\nOf the first seed; the list has one for each."),
                  _code("agreements = [wf.compare(one) for one in scores]\nprint(agreements[0])"),
                  _code("agreements[0].plot()")]
    first, second = (labels[index] for index in pair)
    if first != second and all(one in computed and computed[one].route.implies for one in (first, second)):
        between = f"specifications[{first!r}], specifications[{second!r}]"
        cells += [_text("## Why the pair disagrees"),
                  _code(f"explanation = wf.explain(problems[0], {between})\nprint(explanation)")]
    return json.dumps({"cells": [{"id": f"cell-{index}", **cell} for index, cell in enumerate(cells)],
                       "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                                    "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5},
                      indent=1, ensure_ascii=False) + "\n"


def _assigned(name: str, value: Any) -> str:
    return f"{name} = {pformat(value, width=WIDTH, sort_dicts=False)}"


def _inline(text: str) -> str:
    """Text of a user in a line of Markdown: no markup, no second line."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#!|$&" else letter for letter in " ".join(text.split()))


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [],
            "source": source.splitlines(keepends=True)}
