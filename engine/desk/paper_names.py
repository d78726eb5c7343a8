"""The names of the paper in three readings, and what was measured between these."""

# ruff: noqa: F401 (values that come with the verb)
from __future__ import annotations

from engine.desk import published
from engine.experiments.name_audit import PAPER_NAMES, SHARE, TAU
from engine.experiments.paper_names import NAMES, READINGS, Meaning, PaperName

LEAST = 0.005
"""Of a fraction that is said in whole percent."""


def measured(name: PaperName) -> list[str]:
    """A sentence for every pair of readings that was measured: Kendall's τ, and what the difference consists of."""
    result = published.reproduction(PAPER_NAMES.name, "small")
    if result is None:
        return []
    rows, said = result.table[result.table["name"] == name.title], []
    for readings, own in rows.groupby("readings", sort=False):
        tau = own[own["metric"] == TAU].iloc[0]
        spread = f" ± {tau['ci95']:.2f}" if tau["ci95"] == tau["ci95"] else ""
        links = own[(own["metric"] == SHARE) & (own["mean"] > LEAST)].sort_values("mean", ascending=False)
        shares = ", ".join(f"{row['mean']:.0%} {row['link']}" for row in links.to_dict("records"))
        said.append(f"τ between {readings}: {tau['mean']:.2f}{spread} ({tau['model']}, {tau['n_seeds']} seeds)"
                    .replace("-", "−") + (f"; of the path {shares}." if shares else "."))
    return said


def lacking() -> str:
    """The command that measures them, where that was not done; else empty."""
    done = published.reproduction(PAPER_NAMES.name, "small") is not None
    return "" if done else published.studies.command(PAPER_NAMES.name, "small")
