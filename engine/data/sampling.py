"""The seeded draw of one study: training set, test set, queries and candidates out of a dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Sample:
    """What one study sees of a dataset; no more than the rows is held, beside the dataset itself.

    train_index (n,), test_index (t,), query_index (m,): rows of the dataset's own splits; the queries are the first m
    test examples. candidates (k,): int64 rows of x_train. y_train (n,), y_test (t,), y_query (m,): int64.
    new: what the last of train_index are called, which are candidates outside the training set, to be shown as training
    examples are.
    """

    dataset: Dataset
    train_index: np.ndarray
    test_index: np.ndarray
    query_index: np.ndarray
    candidates: np.ndarray
    seed: int
    new: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many training examples there are."""
        return len(self.train_index) - len(self.new)

    def called(self, row: int) -> str:
        """What a candidate is called in a sentence."""
        return f"training example {row}" if row < self.n else f"new candidate {self.new[row - self.n]}"

    @property
    def n_classes(self) -> int:
        """The classes of the whole dataset, also where the draw misses some."""
        return self.dataset.n_classes

    @property
    def n_outputs(self) -> int:
        """As that of the dataset."""
        return self.dataset.n_outputs

    @property
    def x_train(self) -> np.ndarray:
        """Training features (n, d), converted to float64 at each access: 8 bytes a feature."""
        return self.dataset.features("train", self.train_index)

    @property
    def x_test(self) -> np.ndarray:
        """Test features (t, d), converted to float64 at each access."""
        return self.dataset.features("test", self.test_index)

    @property
    def x_query(self) -> np.ndarray:
        """Features of the queries (m, d), converted to float64 at each access."""
        return self.dataset.features("test", self.query_index)

    @cached_property
    def y_train(self) -> np.ndarray:
        return self.dataset.y_train[self.train_index]

    @cached_property
    def y_test(self) -> np.ndarray:
        return self.dataset.y_test[self.test_index]

    @cached_property
    def y_query(self) -> np.ndarray:
        return self.dataset.y_test[self.query_index]


    def with_new(self, dataset: Dataset, new: tuple[str, ...], n_candidates: int | None) -> Sample:
        """The same draw of a dataset that has new examples of these names behind its training examples, the first
        `n_candidates` of which (None: all) are the candidates. Raises `InvalidInput` for more than there are."""
        count = _size("n_candidates", n_candidates, len(new), "new candidates")
        behind = np.arange(len(dataset.y_train) - len(new), len(dataset.y_train))
        return replace(self, dataset=dataset, train_index=np.concatenate([self.train_index, behind]),
                       candidates=self.n + np.arange(count), new=new)


def draw(dataset: Dataset, *, n_train: int | None = None, n_test: int | None = None, n_queries: int | None = None,
         n_candidates: int | None = None, seed: int = 0) -> Sample:
    """Draw a study without replacement; None takes all there are.

    Training set, test set and candidates come from independent streams of `seed`, and each is the head of one
    shuffle: another size of one leaves the others as they are, and a smaller one is a prefix of a larger one.
    (Candidates are shuffled rows of the drawn training set, so their prefix holds for one n_train.)
    Training records stand in the order of their dataset, so that whoever trains on the same ones trains alike.
    Raises InvalidInput for a size that is not available and for a draw of one class only.
    """
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(_seed(seed)).spawn(3)]
    n_train = _size("n_train", n_train, len(dataset.y_train), f"training examples in `{dataset.name}`")
    n_test = _size("n_test", n_test, len(dataset.y_test), f"test examples in `{dataset.name}`")
    n_queries = _size("n_queries", n_queries, n_test, "sampled test examples")
    train_index = streams[0].permutation(len(dataset.y_train))[:n_train]
    if dataset.records is not None:
        train_index = np.sort(train_index)
    test_index = streams[1].permutation(len(dataset.y_test))[:n_test]
    eligible = _eligible(dataset, train_index, streams[2])
    n_candidates = _size("n_candidates", n_candidates, len(eligible), "candidates among the sampled training examples")
    y_train = dataset.y_train[train_index]
    if dataset.has_classes and (y_train == y_train[0]).all():
        raise InvalidInput(f"All {n_train:,} sampled training examples are of one class; sample more, or change the "
                           "seed.")
    return Sample(dataset, train_index, test_index, test_index[:n_queries], eligible[:n_candidates], int(seed))


def _eligible(dataset: Dataset, train_index: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """The drawn rows that may be candidates, shuffled."""
    shuffled = stream.permutation(len(train_index))
    if dataset.candidates is None:
        return shuffled
    return shuffled[np.isin(train_index[shuffled], dataset.candidates)]


def _size(name: str, wanted: int | None, available: int, of_what: str) -> int:
    if available == 0:
        raise InvalidInput(f"There are no {of_what}; sample more training examples, or use a dataset that has some.")
    if wanted is None:
        return available
    if isinstance(wanted, bool) or not isinstance(wanted, Integral) or wanted < 1:
        raise InvalidInput(f"`{name}` is {wanted!r}; give a whole number from 1 to {available:,}.")
    if wanted > available:
        raise InvalidInput(f"`{name}` is {wanted:,}, but there are only {available:,} {of_what}; use fewer.")
    return int(wanted)


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InvalidInput(f"`seed` is {seed!r}; give a whole number of at least 0.")
    return int(seed)
