"""Which method to look at first, and why: by what these data tell, else by the published comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.metrics.detection import detection

METRIC = "AUPRC"
ALIKE = {True: "of a deep network that has learned its labels by heart, as here",
         False: "of a network that is small or has not learned its labels by heart, as here"}


@dataclass(frozen=True)
class Recommended:
    """A ranking, and why it is the one, as a sentence."""

    pair: Pair
    why: str


def by_flags(suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray) -> Recommended:
    """The ranking that finds the labels known to be wrong best, by average precision."""
    scores = {pair: detection(noisy, values)[METRIC] for pair, values in suspicion.items()}
    best = max(scores, key=lambda pair: scores[pair])
    return Recommended(best, f"of the labels that are known to be wrong here it finds most ({METRIC} "
                             f"{scores[best]:.2f}; a shuffled order has about {noisy.mean():.2f})")


def by_publication(suspicion: Mapping[Pair, np.ndarray], table: pd.DataFrame | None, scale: str, by_heart: bool
                   ) -> Recommended | None:
    """The ranking with the highest published average precision, of the methods at hand; None without a table.

    table: `method`, `behavior`, `metric`, `mean`, `ci95`, as `reproduce table-5-1` writes it; scale: on what, in words;
    by_heart: of its network, and of the one at hand, as `consensus.by_heart` says.
    """
    if table is None:
        return None
    known = {pair for pair in suspicion if pair != CONSENSUS}
    of_metric = table[table["metric"] == METRIC]
    rows = [(float(mean), float(half), Pair(str(method), str(behavior))) for mean, half, method, behavior in
            zip(*(of_metric[name] for name in ("mean", "ci95", "method", "behavior")), strict=True)]
    fitting = [row for row in rows if row[2] in known]
    if not fitting:
        return None
    mean, half, best = max(fitting)
    return Recommended(best, f"in the published Table 5-1 ({scale}), {ALIKE[by_heart]}, it finds most of the labels "
                             f"made wrong, {METRIC} {mean:.2f} ± {half:.2f}; on other data another may")
