"""Which question the scores in a file claim to answer, guessed from what the file and its folder say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from engine.basics.errors import MissingData
from engine.basics.files import read_whole
from engine.basics.strict_json import parse_object
from engine.external.arrays import KRONFLUENCE
from engine.external.score_recipes import CLAIM, SCORE_RECIPES
from engine.external.table import Table
from engine.problems import Problem
from engine.question.behaviors import reading
from engine.question.specification import Specification
from engine.scoring.named import NAMED, OF_TOKENS
from engine.scoring.scoring import Scoring

MOST_BYTES = 1_000_000
GRADSIM = "gradsim"
WRITTEN_AS = {"info.json": GRADSIM, "scores.bin": GRADSIM}
"""Files of a program that has no recipe -> the named method whose question it answers by default: bergson."""
WORDS: Mapping[str, str] = {**{name.replace("_", ""): name for name in NAMED},
                            **{name.removeprefix("influence_function_"): name for name in NAMED},
                            "influence": "influence_function", "bergson": GRADSIM}
"""Words of file names, also two that stand side by side -> named methods."""


@dataclass(frozen=True)
class Guess:
    """claim: the exact scoring of the question; because: what says so, as a sentence."""

    claim: Scoring
    because: str


def guess(table: Table, file: str, problem: type[Problem]) -> Guess | None:
    """What a table from a file claims on problems of a class; None where nothing says it. file: its name, with the
    folders that it lay in as far as they are known."""
    for scoring, because in _said(table, PurePath(file.replace("\\", "/"))):
        fitting = reading(problem.reads)
        behavior = scoring.behavior if scoring.behavior in fitting else OF_TOKENS.get(scoring.behavior, "")
        return Guess(Scoring.of(behavior if behavior in fitting else fitting[0], scoring.intervention,
                                scoring.process), because)
    return None


def beside(path: Path) -> Specification | None:
    """The claim that stands in `claim.json` beside a file, or in a folder; None without one. Raises `InvalidInput` for
    one that is none."""
    file = (path if path.is_dir() else path.parent) / CLAIM
    try:
        content = read_whole(file, "claim", MOST_BYTES)
    except MissingData:
        return None
    return Scoring.parse(parse_object(content, f"`{file}`")).specification


def _said(table: Table, file: PurePath) -> Iterator[tuple[Scoring, str]]:
    """(what is claimed, what says so), the surest first."""
    if table.name == KRONFLUENCE:
        yield SCORE_RECIPES["kronfluence"].claim, f"The array `{KRONFLUENCE}` is kronfluence's."
    words = re.findall("[a-z0-9]+", file.as_posix().lower())
    spoken = [*map("".join, zip(words, words[1:], strict=False)), *words]
    for name, recipe in SCORE_RECIPES.items():
        if name in spoken:
            yield recipe.claim, f"The name says {recipe.title}, whose scores are {recipe.method}."
    for word in spoken:
        if word in WORDS and NAMED[WORDS[word]].implies:
            yield NAMED[WORDS[word]].implied(), f"The name says `{word}`: {NAMED[WORDS[word]].title}."
    if file.suffix.lower() == ".mmap":
        yield SCORE_RECIPES["trak"].claim, "TRAK writes files that end in `.mmap`."
    if file.name in WRITTEN_AS:
        yield NAMED[WRITTEN_AS[file.name]].implied(), "bergson writes such a folder: products of gradients."
