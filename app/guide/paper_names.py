"""What the paper's names mean, as a guide made from their declaration when it is read: one section a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.desk.paper_names import NAMES, READINGS, Meaning, PaperName, lacking, measured

_INTRODUCTION = """# What the paper's names mean

A method's name is three things: what the literature that introduced it computes, what the paper's text says, and what
its authors' code does. Each is a specification of its own, with its behavior (B), intervention (P) and training process
(T). Here are all three for every name, with their sources, and how far they agree on one model.

**Paper** shows our numbers by *the paper's words* or by *the authors' code*, as
`python -m engine reproduce NAME --as authors` computes them. Every ± of the paper's tables is the standard deviation
over three training seeds in the authors' files.
"""
HEAD = "| | " + " | ".join(READINGS.values()) + " |\n|---|" + "---|" * len(READINGS) + "\n"
ROWS: Mapping[str, Callable[[Meaning], str]] = {
    "formula": lambda meaning: f"`{meaning.formula}`", "B": lambda meaning: meaning.behavior,
    "P": lambda meaning: meaning.intervention, "T": lambda meaning: meaning.process,
    "source": lambda meaning: meaning.source}


def names() -> str:
    """The guide as Markdown."""
    command = lacking()
    note = f"\nThe agreement between readings has not been computed yet; `{command}` computes it.\n" if command else ""
    return _INTRODUCTION + note + "".join(f"\n## {name.title}\n\n{_section(name)}\n" for name in NAMES.values())


def _section(name: PaperName) -> str:
    meanings, scorings = name.meanings.values(), name.scorings
    rows = [_row(title, [said(meaning) for meaning in meanings]) for title, said in ROWS.items()]
    computed = [scorings[reading].title if reading in scorings else "—" for reading in READINGS]
    rows.append(_row("computed here", computed))
    return f"{name.note}\n\n{HEAD}{''.join(rows)}" + "".join(f"\n- {sentence}" for sentence in measured(name))


def _row(title: str, cells: Sequence[str]) -> str:
    return f"| **{title}** | {' | '.join(cells)} |\n"
