"""What the paper's names mean, as a guide made from their declaration when it is read: one section a name."""

from __future__ import annotations

from engine.desk.paper_names import NAMES, READINGS, Meaning, PaperName, lacking, measured

_INTRODUCTION = """# What the paper's names mean

A method's name is three things: what the literature that introduced it computes, what the paper's text says, and what
its authors' code does. Each is a specification of its own, with its behavior (B), intervention (P) and training process
(T). Here are all three for every name, with their sources, and how far they agree on one model.

**Paper** shows our numbers by *the paper's words* or by *the authors' code*: `python -m engine reproduce NAME --as
authors`. Every ± of the paper's tables is the standard deviation over three training seeds in the authors' files.
"""
HEAD = "| | formula | B | P | T | source | computed here |\n|---|---|---|---|---|---|---|\n"


def names() -> str:
    """The guide as Markdown."""
    command = lacking()
    note = f"\nThe agreement between readings is not computed yet: `{command}` does.\n" if command else ""
    return _INTRODUCTION + note + "".join(f"\n## {name.title}\n\n{_section(name)}\n" for name in NAMES.values())


def _section(name: PaperName) -> str:
    rows = "\n".join(_row(reading, meaning, name) for reading, meaning in name.meanings.items())
    said = "".join(f"\n- {sentence}" for sentence in measured(name))
    return f"{name.note}\n\n{HEAD}{rows}\n{said}"


def _row(reading: str, meaning: Meaning, name: PaperName) -> str:
    scoring = name.scorings.get(reading)
    cells = (f"`{meaning.formula}`", meaning.behavior, meaning.intervention, meaning.process, meaning.source,
             scoring.title if scoring else "—")
    return f"| **{READINGS[reading]}** | {' | '.join(cells)} |"
