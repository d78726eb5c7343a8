"""How a user's own data are read, as options of the commands that take them."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.csv_text import as_written
from engine.basics.delimited import plain
from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.cli.program import chosen, option_words

if TYPE_CHECKING:
    from engine.data import Dataset

MOST_BYTES = 50_000_000
CHANGES = ("The decisions, as `noisy-labels` writes them with the columns verdict and right_label filled in, or as the "
           "review desk does.")
_option = partial(typer.Option, rich_help_panel="How your own data are read")
Turns = Annotated[str, _option(help="For conversations: whether only the last answer or every answer becomes a record.",
                               metavar="last|every")]
AnswerPattern = Annotated[str, _option(help="A regular expression that marks the answer in a response, as \"The answer "
                                            "is ([A-Z])\".", metavar="PATTERN")]
ExplanationPattern = Annotated[str, _option(help="The same for the explanation.", metavar="PATTERN")]


@dataclass(frozen=True)
class ReadingOptions:
    """How a user's own data are read: options of every command that takes them."""

    trusted: Annotated[Path | None, _option(
        help="A text file of verified examples of --data, one file per line, followed by a tab and the right class if "
             "its label is wrong.", metavar="TXT")] = None
    classes: Annotated[Path | None, _option(
        help="A CSV with the columns class and use_as: a new name for each class of --data; the same name merges "
             "classes, an empty one excludes.", metavar="CSV")] = None
    color: Annotated[str, _option(help="Colour mode of the images of --data: \"as they are\", grayscale or rgb.",
                                  metavar="COLOR")] = "as they are"
    size: Annotated[int | None, _option(help="Side in pixels to which images are resized (default: 64 for photos, "
                                             "else 32 in colour, 28 in grey).")] = None
    label: Annotated[str, _option(help="The column of a table that holds the labels (default: by its name or its "
                                       "values).", metavar="COLUMN")] = ""
    verified: Annotated[str, _option(help="The split of --data whose examples are the verified queries, val or test; "
                                          "others are left out (default: both).", metavar="SPLIT")] = ""
    embeddings: Annotated[Path | None, _option(
        help="Embeddings that are the features of images or a table: npy (n, d) in their order, npz with embeddings "
             "and names, or a table with a column of lists, or one number per column.", metavar="NPY")] = None
    turns: Turns = "last"
    answer_pattern: AnswerPattern = ""
    explanation_pattern: ExplanationPattern = ""

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of `UploadOptions`; none where nothing is chosen. Raises `MissingData` or `InvalidInput` for the
        files."""
        from engine.data import embeddings
        from engine.data.upload_options import parse_trusted

        if self == ReadingOptions():
            return {}
        read: dict[str, Any] = {"color": self.color, "size": self.size, "label": self.label, "queries": self.verified,
                                "turns": self.turns}
        patterns = {"answer": self.answer_pattern, "explanation": self.explanation_pattern}
        read["mark"] = {span: pattern for span, pattern in patterns.items() if pattern}
        if self.embeddings is not None:
            content = read_whole(self.embeddings, "file of embeddings")
            read["embeddings"] = embeddings.keep(io.BytesIO(content), self.embeddings.name)
        if self.trusted is not None:
            read["trusted"] = parse_trusted(_text(self.trusted, "list of verified examples"))
        if self.classes is not None:
            read["classes"] = dict(read_columns(self.classes, "class", "use_as"))
        return read

    def refuse(self, why: str) -> None:
        """Raises `InvalidInput`, with the sentence `why` behind the options, where any is given."""
        given = self.arguments[::2]
        if given:
            raise InvalidInput(f"{' and '.join(given)} {'says' if len(given) == 1 else 'say'} how your own data are "
                               f"read; {why}")

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, which no output may overwrite."""
        return [path for path in (self.trusted, self.classes, self.embeddings) if path is not None]

    @property
    def arguments(self) -> list[str]:
        """As on the command line."""
        return option_words(chosen(self))


@dataclass(frozen=True)
class OwnData:
    """A user's own data by their path, and how they are read."""

    data: Annotated[Path | None, typer.Option(help="Your own data: a zip or a folder of images, an npz, or a table "
                                                   "(CSV, TSV, Parquet, Arrow, JSONL). Their labels are not changed.",
                                              metavar="PATH")] = None
    reading: ReadingOptions = ReadingOptions()

    @property
    def fields(self) -> dict[str, Any]:
        """`ReadingOptions.fields`. Raises as it does, and where there are no data."""
        if self.data is None:
            self.reading.refuse("give --data.")
        return self.reading.fields

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, which no output may overwrite."""
        return [*([self.data] if self.data else []), *self.reading.inputs]


def say(dataset: Dataset) -> None:
    """Print on stderr what the reader of a user's own data decided by itself."""
    for sentence in dataset.said:
        print(sentence, file=sys.stderr)


def read_columns(path: Path, first: str, second: str) -> list[tuple[str, str]]:
    """Two columns of a CSV as pairs of texts, apostrophes that keep a spreadsheet from computing taken off.

    Raises `MissingData` where there is no such file; `InvalidInput` for another file, and where the first column says
    the same twice.
    """
    try:
        header, *lines = [line for line in csv.reader(io.StringIO(_text(path, "CSV", table=True)), strict=True) if line]
        columns = header.index(first), header.index(second)
        if any(len(line) != len(header) for line in lines):
            raise ValueError("a line of another length")
    except (ValueError, csv.Error):
        raise InvalidInput(f"`{path}` is not a CSV with the columns `{first}` and `{second}`; download it from the "
                           "page, or write these two.") from None
    pairs = [(as_written(line[columns[0]].strip()), as_written(line[columns[1]].strip())) for line in lines]
    if len(dict(pairs)) < len(pairs):
        raise InvalidInput(f"`{path}` names the same `{first}` twice; keep one of them.")
    if not pairs:
        raise InvalidInput(f"`{path}` has no rows; give at least one.")
    return pairs


def _text(path: Path, noun: str, table: bool = False) -> str:
    content = read_whole(path, noun, MOST_BYTES,
                         f"`{path}` is larger than {MOST_BYTES // 1_000_000} MB; check the path.")
    try:
        return (plain(content)[0] if table else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"`{path}` is not plain UTF-8 text; save it as UTF-8.") from None
