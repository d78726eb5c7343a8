"""The guides as values: files of Markdown, notebooks and the public names, split by heading.

A guide is one title (`#`), an introduction, and sections (`##`) of text, code and pictures. Comments are for whoever
runs the code blocks and are left out. Headings have the anchors that code hosts give them, so that a link from one
guide to a heading of another means the same everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.guide.paper_names import names
from app.guide.reference import reference
from app.guide.terms import terms
from app.widgets.words.glossary import anchor

FOLDER = Path(__file__).parents[2] / "assets" / "guides"
GUIDES = ("command-line", "explaining", "which-t", "benchmarks", "choosing-a-method", "other-libraries", "python",
          "compare-specifications", "mislabelled-examples", "api", "data", "networks", "own-run", "noisy-labels",
          "poison", "language-models", "exact", "reproducing", "paper-names", "teaching", "gpu", "serving", "agents",
          "troubleshooting", "contributing", "glossary")
"""In reading order; a new one is one file and one name here, but for those that are made when they are read."""
MADE: dict[str, Callable[[], str]] = {"api": reference, "paper-names": names, "glossary": terms}

_FENCE, _HEADING = re.compile(r"^```(\w*)\s*$"), re.compile(r"^(#{1,2}) (.+)$")
_COMMENT, _PICTURE = re.compile(r"^<!--.*-->$"), re.compile(r"^!\[([^\]]*)\]\(([^)]+)\)$")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)")
_CODE = re.compile(r"(`[^`]*`)")


@dataclass(frozen=True)
class Text:
    """Paragraphs, lists and tables, as Markdown."""

    markdown: str


@dataclass(frozen=True)
class Code:
    """A block of code in a language."""

    language: str
    code: str


@dataclass(frozen=True)
class Picture:
    """A picture, by its file below the folder of the guides, and what it shows."""

    file: str
    alt: str


Block = Text | Code | Picture


@dataclass(frozen=True)
class Section:
    """What stands below a heading. The introduction of a guide has the guide's title, and no slug."""

    heading: str
    slug: str
    blocks: tuple[Block, ...]

    @cached_property
    def words(self) -> str:
        """Its text and code on one line, without marks of Markdown."""
        texts = [block.code if isinstance(block, Code) else _plain(block.markdown)
                 for block in self.blocks if not isinstance(block, Picture)]
        return " ".join(" ".join(texts).split())


@dataclass(frozen=True)
class Guide:
    """A guide; the first of its sections is the introduction."""

    name: str
    title: str
    sections: tuple[Section, ...]


def read(name: str) -> Guide:
    """One of `GUIDES`."""
    if name in MADE:
        return split(name, MADE[name]())
    notebook = FOLDER / f"{name}.ipynb"
    return split(name, written(notebook) if notebook.is_file() else (FOLDER / f"{name}.md").read_text("utf-8"))


def written(notebook: Path) -> str:
    """The cells of a notebook as Markdown, without what they gave."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in cells)


def split(name: str, text: str) -> Guide:
    """A guide from its Markdown. Raises `ValueError` for text before its title or a title that is missing."""
    sections: list[Section] = []
    for heading, lines in _by_heading(text):
        slug = anchor(heading) if sections else ""
        sections.append(Section(heading, slug, tuple(_blocks(lines))))
    return Guide(name, sections[0].heading, tuple(sections))


def linked(markdown: str) -> str:
    """Links between guides as addresses of the page; links to files of the repository as text; others as they are."""
    pieces = _CODE.split(markdown)
    return "".join(piece if index % 2 else _LINK.sub(_address, piece) for index, piece in enumerate(pieces))


def _address(link: re.Match) -> str:
    words, target = link.groups()
    if target.startswith("https://"):
        return link[0]
    file, _, slug = target.partition("#")
    if file.removesuffix(".md") in GUIDES and file.endswith(".md"):
        return f"[{words}](guide?guide={file.removesuffix('.md')}" + (f"&heading={slug})" if slug else ")")
    return f"{words} (`{file}`)"


def _by_heading(text: str) -> Iterator[tuple[str, list[str]]]:
    """(heading, lines below it) in order."""
    heading, lines, fenced = "", [], False
    for line in text.splitlines():
        fenced ^= bool(line.startswith("```"))
        opened = None if fenced else _HEADING.match(line)
        if opened is None:
            lines.append(line)
            continue
        if heading:
            yield heading, lines
        if (len(opened[1]) == 1) == bool(heading) or (not heading and "".join(lines).strip()):
            raise ValueError(f"`{line}`: a guide begins with its title, and has one")
        heading, lines = opened[2], []
    if not heading:
        raise ValueError("a guide needs a title")
    yield heading, lines


def _blocks(lines: list[str]) -> Iterator[Block]:
    text: list[str] = []
    rest = iter(lines)
    for line in rest:
        if (fence := _FENCE.match(line)) is not None:
            yield from _text(text)
            text = []
            yield Code(fence[1], _fenced(rest))
        elif (picture := _PICTURE.match(line)) is not None:
            yield from _text(text)
            text = []
            yield Picture(picture[2], picture[1])
        elif not _COMMENT.match(line):
            text.append(line)
    yield from _text(text)


def _fenced(rest: Iterator[str]) -> str:
    return "\n".join(iter(lambda: next(rest, "```"), "```"))


def _text(lines: list[str]) -> Iterator[Text]:
    if markdown := "\n".join(lines).strip():
        yield Text(markdown)


def _plain(markdown: str) -> str:
    text = re.sub(r"^\|[-|: ]+\|$", " ", _LINK.sub(r"\1", markdown), flags=re.MULTILINE)
    return re.sub(r"[`*|]|^[>-] ", " ", text, flags=re.MULTILINE)
