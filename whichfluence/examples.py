"""Examples as people hold them, as tensors: arrays, a Dataset, a DataLoader, a folder of pictures or a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data import default_collate as collate

from engine.basics.errors import InvalidInput
from engine.models.named_inputs import Slots, pack, slots_of

PAIR = "give pairs of an input and its label"
BATCH = 256
LABELS = ("label", "labels", "target", "targets", "y")
"""What dictionaries call the label of an example; the rest are inputs by the names of the model's arguments."""


def examples(source: Any, noun: str) -> tuple[Tensor, Tensor]:
    """Inputs (n, …) and labels (n,) of a source; `noun` names it in sentences.

    Args:
        source: a pair of arrays or tensors, a map-style or iterable `Dataset` of (input, label), or a `DataLoader` of
            them. The examples of a DataLoader stand in the order of its dataset, whatever the order that it draws
            them in, so that candidate k is the k-th example of the dataset.

    Raises:
        InvalidInput: for what is none of these, a sampler that draws an example twice, and a dataset whose examples
            change from one reading to the next, as with random transforms.
    """
    if isinstance(source, DataLoader):
        batches: Iterable[Any] = _loaded(source, noun)
    elif isinstance(source, IterableDataset):
        batches = DataLoader(source, batch_size=BATCH)
    elif isinstance(source, tuple) and len(source) == 2 and all(isinstance(one, Tensor | np.ndarray) for one in source
                                                                ) and len(source[0]) != len(source[1]):
        raise InvalidInput(f"The {noun} has {len(source[0]):,} inputs and {len(source[1]):,} labels; give one "
                           "label per input.")
    elif _is_pair(source):
        return _inputs(source[0]), _tensor(source[1])
    elif isinstance(source, Dataset) or (hasattr(source, "__getitem__") and hasattr(source, "__len__")):
        batches = _read(source, range(len(source)), collate, noun)
    else:
        raise InvalidInput(f"The {noun} is a {type(source).__name__}; give a pair of arrays (inputs, labels), a "
                           "Dataset or a DataLoader.")
    pairs = [pair(batch, noun) for batch in batches]
    if not pairs:
        raise InvalidInput(f"The {noun} holds no examples; give at least one.")
    inputs, labels = zip(*pairs, strict=True)
    return torch.cat(inputs), torch.cat(labels)


def _is_pair(source: Any) -> bool:
    if not isinstance(source, Sequence) or len(source) != 2 or not all(hasattr(one, "__len__") for one in source):
        return False
    if isinstance(source[0], Mapping):
        return not isinstance(source[1], Mapping)  # two batches that are dictionaries are no pair
    return len(source[0]) == len(source[1]) and not isinstance(source[0], tuple)


def _loaded(loader: DataLoader, noun: str) -> Iterator[Any]:
    """The batches of a loader's examples in the order of its dataset."""
    if isinstance(loader.dataset, IterableDataset):
        yield from loader
        return
    rows = _rows(loader, noun)
    yield from _read(loader.dataset, rows, loader.collate_fn or collate, noun)


def _rows(loader: DataLoader, noun: str) -> Sequence[int]:
    """Which examples of its dataset a loader draws, in ascending order."""
    sampler, dataset = loader.sampler, cast(Sized, loader.dataset)
    everything = isinstance(sampler, SequentialSampler) or (
        isinstance(sampler, RandomSampler) and not sampler.replacement and sampler.num_samples == len(dataset))
    if everything:
        return range(len(dataset))
    if isinstance(sampler, RandomSampler) and sampler.replacement:
        rows: list[int] = [0, 0]
    else:
        rows = [int(row) for row in sampler]
    if len(set(rows)) < len(rows):
        raise InvalidInput(f"The sampler of the {noun} returns an example more than once, so its position does not "
                           "identify it; give a DataLoader without that sampler, and the weights as they were in "
                           "training.")
    return sorted(rows)


def _read(dataset: Any, rows: Sequence[int], join: Any, noun: str) -> Iterator[Any]:
    """Batches of a map-style dataset, each example of the first batch read twice."""
    for start in range(0, len(rows), BATCH):
        batch = _joined(join, [dataset[row] for row in rows[start:start + BATCH]], noun)
        if not start:
            repeated = _joined(join, [dataset[row] for row in rows[:BATCH]], noun)
            if not all(torch.equal(one, other) for one, other in zip(pair(batch, noun), pair(repeated, noun),
                                                                     strict=True)):
                raise InvalidInput(f"The {noun} gives a different example when the same one is read twice, as with a "
                                   "random transform; give it without random transforms, or a dataset of examples "
                                   "transformed only once.")
        yield batch


def _joined(join: Any, given: list[Any], noun: str) -> Any:
    try:
        return join(given)
    except (RuntimeError, TypeError) as error:
        raise InvalidInput(f"The examples of the {noun} do not make one batch ({' '.join(str(error).split())[:120]}); "
                           "give tensors of one shape (images by `ToTensor`), or a DataLoader with its "
                           "`collate_fn`.") from error


def pair(batch: Any, noun: str) -> tuple[Tensor, Tensor]:
    """Inputs and labels of one batch. Raises `InvalidInput` for what is none."""
    inputs, labels = _parts(batch, noun)
    return _inputs(inputs), _tensor(labels)


def _parts(batch: Any, noun: str) -> tuple[Any, Any]:
    """Inputs, or inputs by name, and labels of one batch, as they stand in it. Raises `InvalidInput` for what is none.
    """
    if isinstance(batch, Mapping):
        names = next(((x, y) for x, y in (("x", "y"), ("image", "label"), ("img", "label"), ("pixel_values", "labels"),
                                          ("input", "label"), ("features", "label")) if {x, y} <= set(batch)), None)
        labels = [name for name in LABELS if name in batch]
        if names is None and len(labels) == 1 and len(batch) > 1:
            return {name: value for name, value in batch.items() if name != labels[0]}, batch[labels[0]]
        if names is None:
            raise InvalidInput(f"The {noun} gives dictionaries with {', '.join(map(repr, batch))}; {PAIR}.")
        batch = [batch[name] for name in names]
    if not isinstance(batch, Sequence) or len(batch) != 2:
        raise InvalidInput(f"The {noun} gives {len(batch) if isinstance(batch, Sequence) else 'no'} parts per example; "
                           f"{PAIR}.")
    return batch[0], batch[1]


def _inputs(values: Any) -> Tensor:
    """One tensor, or several by the names under which the model takes them, one after another in each row."""
    return pack({name: _tensor(value) for name, value in values.items()}) if isinstance(values, Mapping) else (
        _tensor(values))


def in_batches(source: Any, noun: str, named: Slots) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs (b, …) and labels (b,) of a source, a batch at a time, in its own order: a `DataLoader`, a `Dataset`, a
    pair of arrays, or anything that gives such pairs one batch after another, as a generator does.

    Raises `InvalidInput` for what is none of these, and for named inputs other than `named`.
    """
    if _is_pair(source):
        same_slots(source, named, noun)
        x, y = examples(source, noun)
        yield from zip(x.split(BATCH), y.split(BATCH), strict=True)
        return
    batches = DataLoader(source, batch_size=BATCH) if isinstance(source, Dataset) else source
    if not isinstance(batches, Iterable):
        raise InvalidInput(f"The {noun} is a {type(source).__name__}; give a DataLoader, a Dataset, or a generator of "
                           "batches (inputs, labels).")
    for batch in batches:
        same_slots(batch, named, noun)
        yield pair(batch, noun)


def same_slots(source: Any, expected: Slots, noun: str) -> None:
    """Raises `InvalidInput` for named inputs that are not those of the training data, in their order."""
    if [name for name, _, _ in slots(source)] != [name for name, _, _ in expected]:
        names = ", ".join(f"`{name}`" for name, _, _ in expected) or "one tensor"
        raise InvalidInput(f"The {noun} has inputs other than those of the training data; give {names}, in this order.")


def slots(source: Any) -> Slots:
    """How several named inputs lie in a row; none where the source gives one."""
    inputs = _first_inputs(source)
    return slots_of({name: _tensor(value) for name, value in inputs.items()}) if isinstance(inputs, Mapping) else ()


def _first_inputs(source: Any) -> Any:
    """The inputs of a pair or a batch, or of the first example of a dataset; None where they cannot be told, which is
    said where they are read."""
    join: Any = collate
    if isinstance(source, DataLoader) and not isinstance(source.dataset, IterableDataset):
        join, source = source.collate_fn or collate, source.dataset
    try:
        if isinstance(source, DataLoader | IterableDataset):
            batch = next(iter(source if isinstance(source, DataLoader) else DataLoader(source)))
        elif _is_pair(source) or isinstance(source, Mapping):
            batch = source
        else:
            batch = join([source[0]])
        return _parts(batch, "")[0]
    except Exception:  # a dataset of a user's may raise anything
        return None


def _tensor(values: Any) -> Tensor:
    given = values.to_numpy() if hasattr(values, "to_numpy") else values  # a frame or a series of pandas
    if isinstance(given, np.ndarray):
        given = given.astype(given.dtype.newbyteorder("="), copy=False)
    try:
        held = given.detach().to_dense() if isinstance(given, Tensor) else torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError):
        raise InvalidInput(f"A {type(values).__name__} is not an array of numbers; give tensors or NumPy "
                           "arrays.") from None
    if held.is_complex():
        raise InvalidInput("An array holds complex numbers; give their parts as real ones.")
    return held


def is_path(source: Any) -> bool:
    return isinstance(source, str | Path)
