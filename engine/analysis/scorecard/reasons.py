"""Why a score does not differ from chance: what the card itself has measured of it, and *not known* where it has not.

A score differs from chance where the intervals over queries and over the draw of the subsets, added in squares, do not
reach it. What can be behind it, asked in this order:

    seeds       the exact answer of another seed does not differ from chance either
    subsets     the interval over queries alone would leave chance out: too few subsets were drawn
    size        the same method does differ from chance on subsets of another size
    not known   the exact answer of another seed is above chance, or was not measured
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from engine.analysis.scorecard.benchmark import CEILING, OTHER, Benchmark
from engine.analysis.scorecard.card import with_half


class Estimate(NamedTuple):
    """A mean with the half widths of its 95% intervals over queries and over the draw of subsets; NaN where there is
    none."""

    mean: float
    over_queries: float
    over_subsets: float = math.nan

    @property
    def half(self) -> float:
        """Both together, √(a² + b²); NaN where none is known."""
        known = [one for one in (self.over_queries, self.over_subsets) if not math.isnan(one)]
        return math.hypot(*known) if known else math.nan

    def differs(self, chance: float) -> bool:
        """Whether chance lies outside the interval; never where there is none."""
        return abs(self.mean - chance) > self.half

    @property
    def text(self) -> str:
        return with_half(self.mean, self.half)

    @classmethod
    def of(cls, row: pd.Series) -> Estimate:
        return cls(float(row["mean"]), float(row["ci95"]), float(row["ci95_subsets"]))


def reasons(benchmark: Benchmark, table: pd.DataFrame, measure: str) -> list[str]:
    """A sentence for each method, controls left out, whose score of a measure does not differ from chance. table: the
    rows of the benchmark; empty where its chance depends on the data."""
    if benchmark.chance is None:
        return []
    said, table = [], table.dropna(subset=["mean"])
    for _, row in table[(table["measure"] == measure) & ~table["control"] & (table["method"] != CEILING)].iterrows():
        own = Estimate.of(row)
        if not own.differs(benchmark.chance) and not math.isnan(own.half):
            others = {str(name): Estimate.of(rows.iloc[0]) for name, rows in
                      table[table["method"] == row["method"]].groupby("measure", sort=False)
                      if name != measure and _seed(str(name)) == _seed(measure)}
            said.append(f"{row['title']}, {own.text}, does not differ from chance ({benchmark.chance:g}): "
                        f"{reason(own, _ceiling(table, measure), others, benchmark.chance, int(row['subsets']))}")
    return said


def reason(own: Estimate, ceiling: Estimate | None, others: dict[str, Estimate], chance: float, subsets: int) -> str:
    """What was measured of why a standing is at chance. others: measure -> the same method's on subsets of other
    sizes."""
    if ceiling is not None and not ceiling.differs(chance):
        return (f"nor does the exact answer of another seed ({ceiling.text}), so the effect of subsets cannot be "
                "separated from that of seeds.")
    if not math.isnan(own.over_queries) and abs(own.mean - chance) > own.over_queries:
        return (f"sampling only {subsets} subsets leaves ± {own.over_subsets:.2f}, while queries alone leave ± "
                f"{own.over_queries:.2f}; sample more subsets.")
    apart = [(name, one) for name, one in others.items() if one.differs(chance)]
    if apart:
        name, one = max(apart, key=lambda pair: abs(pair[1].mean - chance))
        return f"on subsets of another size it does ({name}: {one.text}), so their size matters here."
    if ceiling is not None:
        return (f"the exact answer of another seed reaches {ceiling.text}, so seed noise does not explain it; the "
                "cause is unknown.")
    return "no other seed was measured, so the cause is unknown."


def _ceiling(table: pd.DataFrame, measure: str) -> Estimate | None:
    ceiling = table[(table["method"] == CEILING) & (table["measure"] == measure.removesuffix(OTHER))]
    return None if ceiling.empty else Estimate.of(ceiling.iloc[0])


def _seed(measure: str) -> bool:
    return measure.endswith(OTHER)
