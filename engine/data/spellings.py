"""Classes whose names are one word in several spellings: they stay apart, and a note names them."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from unicodedata import normalize

import numpy as np

from engine.data.dataset import Dataset

NAMED = 5
"""How many such words are named."""


def sentences(dataset: Dataset) -> tuple[str, ...]:
    """A sentence on every word that several classes have for a name but for capitals, blanks, hyphens or the way a
    number is written, each class with its number of examples."""
    counts = np.bincount(np.concatenate([dataset.y_train, dataset.y_test]), minlength=dataset.n_classes)
    groups = defaultdict[str, list[int]](list)
    for label, name in enumerate(dataset.class_names):
        groups[_word(name)].append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    said = [f"{' and '.join(f'`{dataset.class_names[label][:60]}` ({counts[label]:,})' for label in group)} differ "
            "only in spelling and are kept as separate classes; give them one name if they are one class."
            for group in alike[:NAMED]]
    more = len(alike) - NAMED
    return (*said, *([f"{more:,} more words have several spellings, each its own class."] if more > 0 else ()))


def _word(name: str) -> str:
    folded = re.sub(r"(?<=\w)[\s_-]+(?=\w)", " ", normalize("NFKC", name).casefold().strip())
    with suppress(ValueError):
        return str(float(folded))
    return folded
