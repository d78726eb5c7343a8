"""Examples that are in the data twice, or nearly: within the searched labels, and between them and what verifies them.

Distances are Euclidean between the inputs x that a model reads (pixels, or features), by scikit-learn's neighbours. A
pair is nearly the same where d(i, j) < t · median_i d(i, nearest of i), with t = 0.13: cleanlab's rule for its
near-duplicate issues (https://docs.cleanlab.ai), which needs no scale. It is exactly the same where the bytes of both
inputs are. An example has at most `NEIGHBOURS` near-duplicates of each kind in the list; a group is what is connected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.applications.noisy_labels import effort
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.request import OfSource
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.jobs import Context, Output
from engine.requests import WHOLE
from engine.store.results import Result

NEIGHBOURS = 10
SEARCHED, TRUSTED, TEST = "searched", "trusted", "test"
COLUMNS = ("split_a", "row_a", "split_b", "row_b", "label_a", "label_b", "distance", "exact", "group")


@dataclass(frozen=True, eq=False)
class Duplicates:
    """pairs: one row a pair, exact ones first, then by distance: split and row of both (row of the searched labels, of
    the trusted set or of the test examples), their labels as numbers, the distance as a multiple of the median distance
    to a nearest neighbour, whether it is exact, and the number of its group. examples: how many were compared."""

    pairs: pd.DataFrame
    examples: int

    @property
    def leaks(self) -> pd.DataFrame:
        """The pairs of a searched example and one that verifies or measures."""
        return self.pairs[self.pairs["split_a"] != self.pairs["split_b"]]

    @property
    def disagreeing(self) -> pd.DataFrame:
        """The pairs whose labels differ: one of the two is wrong, or both are."""
        return self.pairs[self.pairs["label_a"] != self.pairs["label_b"]]

    @property
    def sentence(self) -> str:
        """How many there are."""
        if not len(self.pairs):
            return f"No two of {self.examples:,} examples are nearly the same."
        groups, exact = self.pairs["group"].nunique(), int(self.pairs["exact"].sum())
        return (f"{groups:,} groups of near-duplicates among {self.examples:,} examples, {len(self.pairs):,} pairs, "
                f"{exact:,} of them exact; labels differ in {len(self.disagreeing):,}, and {len(self.leaks):,} lie on "
                "both sides of a split.")

    def named(self, noisy: NoisyData) -> pd.DataFrame:
        """The pairs with labels by name, and each example by its file where that is known, else by its row."""
        names, table = noisy.dataset.class_names, self.pairs.copy()
        for side in "ab":
            table[f"label_{side}"] = [names[label] for label in table[f"label_{side}"]]
            table.insert(0 if side == "a" else 1, f"example_{side}", [
                _name(noisy, split, row) for split, row in zip(table[f"split_{side}"], table[f"row_{side}"],
                                                               strict=True)])
        return table

    def with_twins(self, rows: list[int]) -> list[int]:
        """Rows of the searched labels with those in the same groups, in their order."""
        within = self.pairs[(self.pairs["split_a"] == SEARCHED) & (self.pairs["split_b"] == SEARCHED)]
        groups = set(within["group"][within["row_a"].isin(rows) | within["row_b"].isin(rows)])
        chosen = within[within["group"].isin(groups)]
        return list(dict.fromkeys([*rows, *map(int, chosen["row_a"]), *map(int, chosen["row_b"])]))


def _name(noisy: NoisyData, split: str, row: int) -> str:
    dataset = noisy.dataset
    rows, files = {SEARCHED: (noisy.rows, dataset.files),
                   TRUSTED: (noisy.trusted_rows, dataset.files if noisy.trusted_split == "train" else
                             dataset.test_files)}.get(split, ((), ()))
    return files[rows[row]] if files else f"{split} example {row:,}"


DISTANCE = 1e-7
"""Seconds a pair of examples of some thousand numbers."""


class DuplicatesRequest(OfSource[Duplicates]):
    """Find duplicates and near-duplicates in the data, and those on both sides of a split (resumable)."""

    name: ClassVar = "near_duplicates"
    about: ClassVar = "Near-duplicates in"
    command: ClassVar = "near-duplicates"
    doing: ClassVar = "near-duplicates"
    outputs: ClassVar = {"out": "Output pairs."}

    threshold: Annotated[float, Field(gt=0.0, lt=1.0, description=(
        "Threshold, as a fraction of the median nearest-neighbour distance."))] = 0.13

    def exported(self, result: Result) -> dict[str, bytes]:
        return {"out": csv_text(self.loaded(result).named(draw_cached(self.source))).encode()}

    def sentences(self, answer: Duplicates) -> list[str]:
        return [answer.sentence]

    @property
    def unit(self) -> float:
        return (self.source.n_train or effort.ALL) ** 2 * DISTANCE

    def run_chunk(self, chunk: str, context: Context) -> Output:
        return self.stored(duplicates(draw_cached(self.source), self.threshold))

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        return self.stored(self.loaded(chunks[WHOLE])).stating({
            "data": draw_cached(self.source).fingerprint, "device": "cpu", "seeds": [self.source.mask]})


def duplicates(noisy: NoisyData, threshold: float = 0.13) -> Duplicates:
    """The near-duplicates of drawn data. Raises `InvalidInput` for fewer than three examples."""
    evidence, trusted = noisy.evidence, not noisy.source.in_turn
    parts = [(SEARCHED, evidence.x, evidence.y), *([(TRUSTED, evidence.trusted_x, evidence.trusted_y)] if trusted else
                                                   []), *([(TEST, noisy.x_test, noisy.y_test)] if trusted else [])]
    parts = [(split, x, y) for split, x, y in parts if len(x)]
    x = np.concatenate([np.asarray(part).reshape(len(part), -1) for _, part, _ in parts]).astype(np.float32)
    nearby = pairs(x, threshold)
    split = np.concatenate([np.full(len(y), name) for name, _, y in parts])
    row = np.concatenate([np.arange(len(y)) for _, _, y in parts])
    label = np.concatenate([y for _, _, y in parts])
    a, b = nearby["a"].to_numpy(), nearby["b"].to_numpy()
    table = pd.DataFrame({"split_a": split[a], "row_a": row[a], "split_b": split[b], "row_b": row[b],
                          "label_a": label[a], "label_b": label[b], "distance": nearby["distance"],
                          "exact": nearby["exact"], "group": nearby["group"]}, columns=list(COLUMNS))
    searched = (table["split_a"] == SEARCHED) | (table["split_b"] == SEARCHED)
    return Duplicates(table[searched].reset_index(drop=True), len(x))


def pairs(x: np.ndarray, threshold: float) -> pd.DataFrame:
    """a < b, rows of x (n, d) that are near-duplicates: `distance`, whether `exact`, and the `group` of both."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import NearestNeighbors

    if len(x) < 3:
        raise InvalidInput(f"There are {len(x)} examples; detecting near-duplicates needs three or more.")
    distance, index = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(x) - 1)).fit(x).kneighbors()
    median = float(np.median(distance[:, 0]))
    digest = np.array([hashlib.sha256(one.tobytes()).hexdigest() for one in x])
    scale = median if median > 0 else 1.0
    order = np.argsort(digest, kind="stable")  # equal ones follow each other, however many they are
    a = np.concatenate([np.repeat(np.arange(len(x)), index.shape[1]), order[:-1]])
    b = np.concatenate([index.ravel(), order[1:]])
    far = np.concatenate([distance.ravel(), np.full(len(x) - 1, np.inf)])
    exact = digest[a] == digest[b]
    near = exact | (far < threshold * median)
    table = pd.DataFrame({"a": np.minimum(a, b), "b": np.maximum(a, b), "distance": far / scale,
                          "exact": exact})[near].drop_duplicates(["a", "b"])
    graph = coo_matrix((np.ones(len(table)), (table["a"], table["b"])), shape=(len(x), len(x)))
    group = connected_components(graph, directed=False)[1]
    table["distance"] = np.where(table["exact"], 0.0, table["distance"])
    table["group"] = np.unique(group[table["a"]], return_inverse=True)[1]
    return table.sort_values(["exact", "distance", "a", "b"], ascending=[False, True, True, True], ignore_index=True)
