"""What suspects share and the rest of their class does not: pixels, columns of a table, words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

NEAR = 0.1
"""Of the range of a feature: values within that of the suspects' median agree."""
COMMON, RARE = 0.8, 0.3
"""The least fraction of suspects that agree, and the largest of the others."""
WORD = re.compile(r"\w+")


def features(x: np.ndarray, suspects: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(d,) bool: the features of x (n, d) in which most suspects agree and the others, of the same class, do not."""
    if not len(suspects) or not len(others):
        return np.zeros(x.shape[1], dtype=bool)
    both = np.concatenate([x[suspects], x[others]])
    span = both.max(0) - both.min(0)
    near = np.abs(both - np.median(x[suspects], axis=0)) <= NEAR * span
    agree, rest = near[:len(suspects)].mean(0), near[len(suspects):].mean(0)
    return (span > 0) & (agree >= COMMON) & (rest <= RARE)


def values(frame: pd.DataFrame, suspects: np.ndarray, others: np.ndarray) -> list[tuple[str, str]]:
    """(column, value) of a frame (n, …) in which most suspects agree and the others do not: of numbers as `features`
    has it, with the suspects' median; else their most frequent value."""
    if not len(suspects) or not len(others):
        return []
    numbers = frame.select_dtypes("number")
    common = features(numbers.to_numpy(dtype=float), suspects, others)
    medians = numbers.iloc[suspects].median()
    listed = [(str(name), f"{medians[name]:.4g}") for name in numbers.columns[common]]
    for name in frame.columns.difference(numbers.columns, sort=False):
        texts = frame[name].astype(str).where(frame[name].notna(), "empty").to_numpy()
        value, count = Counter(texts[suspects].tolist()).most_common(1)[0]
        if count >= COMMON * len(suspects) and (texts[others] == value).mean() <= RARE:
            listed.append((str(name), value))
    return listed


def words(texts: Sequence[str], suspects: Sequence[int], others: Sequence[int]) -> list[str]:
    """Words that most suspects hold and the others do not, in the order of the alphabet."""
    def fractions(rows: Sequence[int]) -> dict[str, float]:
        counts = Counter(word for row in rows for word in set(WORD.findall(texts[row].lower())))
        return {word: count / len(rows) for word, count in counts.items()}

    if not len(suspects) or not len(others):
        return []
    rest = fractions(others)
    return sorted(word for word, fraction in fractions(suspects).items()
                  if fraction >= COMMON and rest.get(word, 0.0) <= RARE)
