"""How a user's own data are read, as options of the commands that take them."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.delimited import plain
from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole

if TYPE_CHECKING:
    from engine.data import Dataset

MOST_BYTES = 50_000_000
CHANGES = ("The decisions, as `noisy-labels` writes them with the columns verdict and right_label filled in, or as the "
           "review desk does.")


@dataclass(frozen=True)
class OwnData:
    """A user's own data by their path, and how they are read."""

    data: Annotated[Path | None, typer.Option(help="Your own data: a zip or a folder of pictures, an npz, or a table "
                                                   "(CSV, TSV, Parquet, Arrow, JSONL). Their labels stay as they are.",
                                              metavar="PATH")] = None
    trusted: Annotated[Path | None, typer.Option(help="A text file with the verified examples of --data, a file a "
                                                      "line, and where its label is another one a tab and the "
                                                      "right class.",
                                                 metavar="TXT")] = None
    classes: Annotated[Path | None, typer.Option(help="A CSV with the columns class and use_as: the name that a class "
                                                      "of --data gets, the same for several to merge them, or nothing "
                                                      "to leave it out.", metavar="CSV")] = None
    color: Annotated[str, typer.Option(help="How pictures of --data are read: \"as they are\", grayscale or rgb.",
                                       metavar="COLOR")] = "as they are"
    size: Annotated[int | None, typer.Option(help="Pixels a side to which they are resized (default: 64 for photos, "
                                                  "else 32 in colour, 28 in grey).")] = None

    label: Annotated[str, typer.Option(help="The column of a table that holds the labels (default: told by its name).",
                                       metavar="COLUMN")] = ""

    verified: Annotated[str, typer.Option(help="The split of --data whose examples are the verified queries, val or "
                                               "test; other ones are left out (default: both).", metavar="SPLIT")] = ""
    embeddings: Annotated[Path | None, typer.Option(help="Embeddings that are the features of pictures or a table: npy "
                                                         "(n, d) in their order, npz with embeddings and names, or a "
                                                         "table with a column of lists, or a number a column.",
                                                    metavar="NPY")] = None
    turns: Annotated[str, typer.Option(help="Of conversations, whether the last answer is a record or every one.",
                                       metavar="last|every")] = "last"
    answer_pattern: Annotated[str, typer.Option(help="A regular expression that marks the answer in a response, as "
                                                     "\"The answer is ([A-Z])\".", metavar="PATTERN")] = ""
    explanation_pattern: Annotated[str, typer.Option(help="The same for the explanation.", metavar="PATTERN")] = ""

    @property
    def reading(self) -> dict[str, Any]:
        """Fields of `UploadOptions`. Raises `MissingData` or `InvalidInput` for the files."""
        from engine.data import embeddings
        from engine.data.upload_options import parse_trusted

        if self.data is None and any(getattr(self, own.name) != own.default for own in fields(OwnData)):
            raise InvalidInput("--trusted, --classes, --color, --size, --label, --verified, --embeddings, --turns and "
                               "the patterns say how --data is read; give --data.")
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

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, which no output may overwrite."""
        return [path for path in (self.data, self.trusted, self.classes, self.embeddings) if path is not None]


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
    pairs = [(line[columns[0]].strip().removeprefix("'"), line[columns[1]].strip().removeprefix("'")) for line in lines]
    if len(dict(pairs)) < len(pairs):
        raise InvalidInput(f"`{path}` names the same `{first}` twice; keep one of them.")
    if not pairs:
        raise InvalidInput(f"`{path}` has no rows; give one at least.")
    return pairs


def _text(path: Path, noun: str, table: bool = False) -> str:
    content = read_whole(path, noun, MOST_BYTES,
                         f"`{path}` is larger than {MOST_BYTES // 1_000_000} MB; check the path.")
    try:
        return (plain(content)[0] if table else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"`{path}` is not plain UTF-8 text; save it so.") from None
