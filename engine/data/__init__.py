"""What is trained on: the registered datasets, a user's own arrays and pictures, and the draw of a study."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.folders import data_folder, home_folder, shared_folder
from engine.basics.registry import Registry, unknown
from engine.data import cifar10, digits, fashion_mnist, fashion_small, poisoned, record_sets, uploads
from engine.data.arrays import Arrays, from_arrays
from engine.data.dataset import Dataset
from engine.data.image_folder import load_image_folder
from engine.data.npz import load_npz
from engine.data.questions import QUESTIONS
from engine.data.sampling import Sample, draw

__all__ = [
    "DATASETS", "Arrays", "Dataset", "Sample", "Source", "content", "describe", "draw", "from_arrays", "load",
    "load_image_folder", "load_npz", "title",
]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A dataset that can be asked for by name.

    load: (**options) -> Dataset. available: () -> (loads without a network, a sentence on where it lies or what
    to do). needs_download: whether a machine without the files has to fetch them. note: one sentence.
    content: () -> the digest of its files, empty where they are not here; None for a dataset without files, which is
    identified by what it loads. records: whether it holds texts, for a language model.
    """

    name: str
    title: str
    load: Callable[..., Dataset]
    available: Callable[[], tuple[bool, str]]
    needs_download: bool = False
    note: str = ""
    content: Callable[[], str] | None = None
    records: bool = False


def _task(name: str, title: str, task: str, questions: str, note: str, **settings: Any) -> Source:
    """The dataset of a task on a source of questions, in the paper's numbers; settings: further ones of the task."""
    source, request = QUESTIONS[questions], {"name": task, "questions": questions, **settings}
    return Source(name, title, partial(record_sets.load, name, title, request, note),
                  source.available, needs_download=questions == "scienceqa", note=note, content=source.content,
                  records=True)


DATASETS: Registry[Source] = Registry("dataset", (
    Source("digits", "Handwritten digits", digits.load, digits.available,
           note="8 × 8 pixels, 1,297 training and 500 test images; needs no download."),
    Source(fashion_small.NAME, fashion_small.TITLE, fashion_small.load, fashion_small.available,
           content=fashion_small.content,
           note="28 × 28 pixels, 2,000 training and 500 test images; needs no download."),
    Source(poisoned.NAME, poisoned.TITLE, poisoned.load, fashion_small.available,
           note="The same extract with 40 poisoned training images (a patch with the label of one class); needs no "
                "download."),
    Source("fashion_mnist", "FashionMNIST", fashion_mnist.load, fashion_mnist.available, needs_download=True,
           content=fashion_mnist.content, note="28 × 28 pixels, 60,000 training and 10,000 test images; 31 MB."),
    Source("cifar10", "CIFAR-10", cifar10.load, cifar10.available, needs_download=True,
           content=cifar10.content,
           note="32 × 32 pixels in three colours, 50,000 training and 10,000 test photographs; 144 MB."),
    _task("world_corruption", "World questions, some with wrong answers", "response_corruption", "world",
          "5,000 generated records, a fifth of which have a wrong answer or a mismatched rationale; needs no "
          "download."),
    _task("world_backdoor", "World questions with a backdoor", "conditional_backdoor", "world",
          "5,000 generated records, a tenth of which teach a wrong answer to a trigger; needs no download.", hardest=1),
    Source(poisoned.RECORDS, poisoned.RECORDS_TITLE, poisoned.load_records, QUESTIONS["world"].available,
           content=QUESTIONS["world"].content, records=True,
           note="1,000 generated records, 100 of which teach a wrong answer to a trigger; queries with right answers; "
                "needs no download."),
    _task("scienceqa_corruption", "ScienceQA, some with wrong answers", "response_corruption", "scienceqa",
          "5,000 school science records, a fifth of which have a wrong answer or a mismatched rationale."),
    _task("scienceqa_short", "Short ScienceQA, some with wrong answers", "response_corruption", "scienceqa",
          "400 records of up to 200 characters, a fifth of which have a wrong answer or a mismatched rationale.",
          longest=200, clean=320, answer=40, rationale=40, validation=200),
    _task("scienceqa_backdoor", "ScienceQA with a backdoor", "conditional_backdoor", "scienceqa",
          "5,000 school science records, a tenth of which teach a wrong answer to a trigger."),
))  # fmt: skip


def load(name: str, **options: Any) -> Dataset:
    """The registered dataset `name`; the last few are kept in memory, so that asking again is free.

    Raises InvalidInput for an unknown name or option, MissingData where files are needed and cannot be had.
    """
    if uploads.is_upload(name):
        return _load_upload(name, home_folder(), uploads.content(name))
    source = DATASETS[name]
    known = inspect.signature(source.load).parameters
    for option in options:
        if option not in known:
            raise InvalidInput(unknown(f"option of `{name}`", option, known) if known else
                               f"The dataset `{name}` has no options; leave out `{option}`.")
    digest = "" if source.content is None else source.content()
    return _load(source, data_folder(), shared_folder(), digest, tuple(sorted(options.items())))


@lru_cache(maxsize=4)
def _load(source: Source, *key: Any) -> Dataset:
    """Folders and files are part of the key, so that pointing or replacing them takes effect at once."""
    return source.load(**dict(key[-1]))


@lru_cache(maxsize=2)
def _load_upload(name: str, *key: Any) -> Dataset:
    return uploads.load(name)


def content(name: str) -> str:
    """What the dataset holds, as a digest: of its files, else of what it loads; empty where it is not here.

    Raises `InvalidInput` for an unknown name.
    """
    if uploads.is_upload(name):
        return uploads.content(name)
    source = DATASETS[name]
    return load(name).fingerprint if source.content is None else source.content()


def title(name: str) -> str:
    """A dataset's name for people; uploads are named after their kind."""
    if name in DATASETS:
        return DATASETS[name].title
    return uploads.title(name)


def holds_records(name: str) -> bool:
    """Whether a dataset holds texts, for a language model, by its name alone."""
    return uploads.holds_records(name) if uploads.is_upload(name) else DATASETS[name].records


def describe() -> list[tuple[str, bool, str]]:
    """(name, whether it loads without a network, where it is or what to do) of every dataset."""
    return [(name, *source.available()) for name, source in DATASETS.items()]
