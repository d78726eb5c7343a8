"""How a user's own data are read: colour, size, classes, and which labels are verified."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Sparse
from engine.data.dataset import Dataset
from engine.data.image_folder import SIZES
from engine.data.record_forms import Turns
from engine.data.splits import mapped, queried, verified

MOST_LINES = 200_000


class UploadOptions(Sparse):
    """A way to read an upload, as a value.

    of: the name of the upload. color, size: of pictures, as `load_image_folder` takes them; size None for the usual
    one. classes: class -> the name it gets, empty where it is left out; those not named stay. trusted: file of a
    verified example -> its class after `classes`, empty where the label that it came with is right. label: of a
    table, the column with the labels; empty for the one that its name or its values tell. queries: the split whose
    examples are the verified queries, while others but the training examples are left out; empty for all of them.
    embeddings: the name of stored ones that are the features (`engine.data.embeddings`). turns, mark: of records, as
    `engine.data.records.read_jsonl` takes them, the latter as its rules. targets: of arrays and tables, whether their
    labels are numbers for a loss of the user's own; `label` may then name several columns, with commas between them.
    """

    unwritten: ClassVar = ("label", "queries", "embeddings", "turns", "mark", "targets")
    of: str
    color: Literal["as they are", "grayscale", "rgb"] = "as they are"
    size: Annotated[Count, Field(ge=SIZES[0], le=SIZES[1])] | None = None
    classes: dict[str, str] = {}
    trusted: dict[str, str] = {}
    label: str = ""
    queries: Literal["", "val", "test"] = ""
    embeddings: str = ""
    turns: Turns = "last"
    mark: dict[str, str] = {}
    targets: bool = False

    @property
    def labels(self) -> list[str]:
        """The columns of a table that hold the labels or targets; one empty name where nobody says which."""
        return [one.strip() for one in self.label.split(",")] if self.targets else [self.label]

    @property
    def is_plain(self) -> bool:
        """Whether it reads the upload as it is read without one."""
        return self == UploadOptions(of=self.of)

    def applied(self, dataset: Dataset) -> Dataset:
        """The dataset with its classes and verified examples. Raises `InvalidInput` as `queried`, `mapped` and
        `verified` do, and for classes of what has none."""
        if dataset.targets is not None and (self.classes or self.trusted):
            raise InvalidInput("The examples have targets, and no classes to rename or to verify; leave these out.")
        if self.queries:
            dataset = queried(dataset, self.queries)
        if self.classes:
            dataset = mapped(dataset, self.classes)
        return verified(dataset, self.trusted) if self.trusted else dataset


def parse_trusted(text: str) -> dict[str, str]:
    """`UploadOptions.trusted` of a list, a file a line, if its label is another one with a tab and the right class.

    Raises `InvalidInput` for a list without a file, one that is too long, and a file that stands there twice.
    """
    lines = [line.strip() for line in text.splitlines()]
    trusted: dict[str, str] = {}
    if len(lines) > MOST_LINES:
        raise InvalidInput(f"The list of verified examples has more than {MOST_LINES:,} lines; give fewer.")
    for line in lines:
        file, _, name = (part.strip() for part in line.partition("\t"))
        file = file.removeprefix("./")
        if file and trusted.setdefault(file, name) != name:
            raise InvalidInput(f"The list of verified examples gives `{file[:80]}` two classes; keep one of them.")
        trusted.pop("", None)
    if not trusted:
        raise InvalidInput("The list of verified examples is empty; give one file per line.")
    return trusted
