"""The language of the house: dialect that no reader meets, how long a sentence may be, and how numerals are written.

Texts are what reaches a reader: strings of three words and more in the code (docstrings of commands and requests are
their help), and the prose of guides. Code, addresses, styles and logs are none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.guides.claims.scan import GUIDES, is_code, prose
from tests.house.source import ROOT

BANNED = {
    r"made wrong|taken out of|taking (them|it) out": "corrupted; removed",
    r"link by link|straight on|of the way\b|along the way|the way from|on the way": "path; direct difference",
    r"foreign explanations?": "mismatched rationale",
    r"examples at each end|the top of both|one against the other": "top and bottom k; scatter",
    r"behavior lost without": "top-k removal",
    r"nobody|somebody|whoever": "say who, or use the passive",
    r"anew\b|made again": "again; retrained; replayed",
    r"(is|are|was|were) (told|asked|brought|drawn)\b": "given; requested; imported; sampled or shown",
    r"(asks?|asked) (for|of) (its|their) own|speaks? of|says? itself": "a plain verb",
    r"tells? (the|which|what|apart|how)\b|told apart": "shows; separates; determines",
    r"what is left\b|what there is\b|as they came|as it came": "the rest; as given",
    r"shuffled order|what is sought": "random order; positives",
    r"goes? on from|takes? up again|took up again": "continues; resumes",
    r"push on|pulls? on|pulls? hardest": "derivative; gradient",
    r"leaves? the tangent|the tangent is left|bends with": "nonlinear",
    r"(the|an?|first|another|same|other) draws?\b(?! of)|drawn at random": "sample; seed",
    r"in (labels|doubt) in doubt|stands? (beside|nowhere|for it)\b": "unverified; is shown with",
    r"desk, small": "explain scales where they are chosen",
}
"""A pattern of dialect -> what is written instead."""

SENTENCE = 65
"""Words of a sentence at most; lists after a colon count as one sentence."""
NUMERAL = re.compile(r"(?<![\w.])\d\.\d+e(\+\d|-?0\d?|[+-]0)|(?<![\w.,])\d{5,}(?![\w.%])")
"""3.37e+0 for 3.37, and 10000 for 10,000."""
TOPS = ("app", "pages", "engine", "whichfluence")
NOTES = ("engine/question/", "engine/estimators/")
"""Rooms whose notes are rewritten with their behaviors and estimators."""
EXEMPT = {
    "labels in doubt": "the stored value of `trusted_from` in requests and manifests",
    "Share of the way": "the name of a measure in a published table",
    "the whole way": "the name of a measure in a published table",
    "PyTorch issue 196678": "the number of an issue",
    "a about all an and any are as at": "the words that a search leaves out",
}
"""A text, or a part of one -> why it may stay."""


@dataclass(frozen=True)
class Passage:
    """What a reader meets, and where it is written."""

    path: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words[:160]}"

    @property
    def bare(self) -> str:
        """The words without those that are exempt."""
        text = self.words
        for exempt in EXEMPT:
            text = text.replace(exempt, "")
        return text


def texts(root: Path = ROOT) -> Iterator[Passage]:
    """Every text of code and guides."""
    for path in sorted(path for top in TOPS for path in (root / top).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(NOTES):
            yield from strings(name, path.read_text("utf-8"))
    for path in (root / "README.md", *sorted(GUIDES.glob("*.md"))):
        yield from (Passage(path.name, 0, one) for one in prose(path.read_text("utf-8")).split("¶ "))


def strings(name: str, module: str) -> Iterator[Passage]:
    """The texts of a module; `…` stands where a value is put in."""
    tree = ast.parse(module)
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    left_out = {id(part.value) for body in bodies for part in body if isinstance(part, ast.Expr)}
    left_out |= {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            said = "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        else:
            continue
        if len(re.findall(r"[^\W\d_]{2,}", said)) > 2 and not is_code(said):
            yield Passage(name, node.lineno, " ".join(re.sub(r"<[^>]*>|`[^`]*`", " ", said).split()))


def dialect(text: Passage) -> Iterator[str]:
    """What of a text is banned, with what is written instead."""
    for pattern, better in BANNED.items():
        for match in re.finditer(rf"\b(?:{pattern})", text.bare, re.IGNORECASE):
            yield f"{text}\n    “{match[0]}”: write {better}"


def long_sentences(text: Passage) -> Iterator[str]:
    """Sentences of more than `SENTENCE` words."""
    for sentence in re.split(r"(?<=[.!?:;])\s+|\s[|·]\s", text.bare):
        if (words := len(sentence.split())) > SENTENCE:
            yield f"{text.path}:{text.line}: {words} words: {sentence[:200]}"


def numerals(text: Passage) -> Iterator[str]:
    """Numerals in a form that only programs write."""
    for match in NUMERAL.finditer(text.bare):
        yield f"{text}\n    “{match[0]}”: write 3.37 for 3.37e+0, and 10,000 for 10000"
