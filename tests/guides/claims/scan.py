"""Where guides, README and pages judge or give a number: the words and digits that need evidence, with their place.

A text is what a reader sees: Markdown without code, comments, headings, tables and addresses of links, or the string
constants of a page's modules without markup. Which words and numbers count, and which names and phrases do not, is in
`words`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.guides.claims.words import JUDGEMENTS, NAMES, NUMBERS, PHRASES

ROOT = Path(__file__).parents[3]
GUIDES = ROOT / "assets" / "guides"
ENDS = re.compile(r"[.!?:]\)?\*{0,2} (?=[A-Z*`“\"(¶])|¶ ")


@dataclass(frozen=True)
class Trigger:
    """A judgement word or number at text[start:end] of a file, with the sentence it stands in."""

    file: str
    word: str
    start: int
    end: int
    sentence: str


def name_of(path: Path) -> str:
    """`reproducing` of a guide, `README`, or `app/paper/notes.py`."""
    return path.stem if path.suffix == ".md" else path.relative_to(ROOT).as_posix()


def prose(markdown: str) -> str:
    """The prose of a guide on one line; tables have tests of their own and leave a mark."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(\|.*|#.*)$", "", text, flags=re.M)
    text = re.sub(r"\n\s*\n", "\n¶ ", re.sub(r"^(- |\d+\. +)", "¶ ", re.sub(r"^> ", "", text, flags=re.M), flags=re.M))
    text = re.sub(r"\]\([^)\s]*\)", "]", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text))
    return re.sub(r"(¶ )+", "¶ ", " ".join(text.split()))


def strings(module: str) -> str:
    """The sentences among the string constants of a module, one after another; `…` where a value is put in."""
    tree = ast.parse(module)
    left_out = {id(node) for joined in ast.walk(tree) if isinstance(joined, ast.JoinedStr) for node in ast.walk(joined)
                if node is not joined and isinstance(node, ast.Constant)}
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    left_out |= {id(part.value) for body in bodies for part in body if isinstance(part, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append((node.lineno, node.col_offset, "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            found.append((node.lineno, node.col_offset, node.value))
    said = (re.sub(r"<[^>]*>", " ", text) for _, _, text in sorted(found) if not is_code(text))
    return " ¶ ".join(" ".join(text.split()) for text in said if len(re.findall(r"[^\W\d_]{2,}", text)) > 2)


def is_code(text: str) -> bool:
    """Scripts, style sheets, addresses and commands, which nobody reads as a claim."""
    return bool(re.search(r"=>|</?(?:script|style|svg)|^\s*[.\[#:@][\w-]+.*\{|python -m|://|^data:|;\s*$|px\b|"
                          r"[\w-]+:\s?[^ ]+;|\bdatum\b|color-mix", text, re.S))


def triggers(file: str, text: str) -> Iterator[Trigger]:
    """Every judgement word and number of a text that is neither code nor part of a name."""
    bare = re.sub(r"`[^`]*`", lambda found: " " * len(found[0]), text)
    for phrases in PHRASES.values():
        bare = re.sub(phrases, lambda found: " " * len(found[0]), bare, flags=re.X)
    without_names = NAMES.sub(lambda found: " " * len(found[0]), bare)
    for pattern, own in ((JUDGEMENTS, bare), (NUMBERS, without_names)):
        for found in pattern.finditer(own):
            yield Trigger(file, found[0], *found.span(), sentence_at(text, found.start()))


def sentence_at(text: str, place: int) -> str:
    """The sentence around a place."""
    ends = [found.end() for found in ENDS.finditer(text, max(0, place - 2_000), min(len(text), place + 2_000))]
    begin = max((end for end in ends if end <= place), default=0)
    return text[begin:min((end for end in ends if end > place), default=len(text))].strip(" ¶")


def texts() -> dict[str, str]:
    """What is scanned: README, all guides, and the modules of all pages; name -> text."""
    guides = (ROOT / "README.md", *sorted(GUIDES.glob("*.md")))
    read = {name_of(path): prose(path.read_text("utf-8")) for path in guides}
    modules = (*sorted((ROOT / "app").rglob("*.py")), *sorted((ROOT / "pages").glob("*.py")),
               *sorted((ROOT / "engine" / "desk").glob("*presets.py")))
    return {**read, **{name_of(path): found for path in modules if (found := strings(path.read_text("utf-8")))}}


def tables(markdown: str) -> Iterator[str]:
    """The head of every table of a guide that holds a decimal number."""
    for found in re.finditer(r"(?:^\|.*\n)+", re.sub(r"^```.*?^```$", "", markdown, flags=re.M | re.S), flags=re.M):
        head, _, *rows = found[0].splitlines()
        if re.search(r"\d\.\d", " ".join(rows)):
            yield head.strip("| ")
