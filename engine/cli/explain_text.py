"""An explanation as data for why.json, and as text for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.analysis.explanation import Explanation


def as_data(why: Explanation) -> dict[str, Any]:
    """An explanation as plain data."""
    return {"sentence": why.sentence, "links": [asdict(link) for link in why.links],
            "direct": why.direct.mean, "path": why.path, "slack": why.slack, "orders": why.orders,
            "n_seeds": why.n_seeds, "interval_over": why.direct.interval_over,
            "agreement": {name: {"mean": agreement.mean, "ci95": agreement.ci95}
                          for name, agreement in why.whole.items()},
            "brackets": {cause: list(why.bracket(cause)) for cause in _causes(why)},
            "ends": list(why.ends), "notes": [*why.by_order, *why.notes], "left_out": why.left_out}


def over(why: Explanation) -> str:
    """What intervals run over, in words."""
    return f"{why.n_seeds} seeds" if why.n_seeds > 1 else "queries"


def as_text(why: Explanation) -> str:
    """The sentence and the links, as text for the terminal."""
    lines = [why.sentence, *why.ends]
    for link in why.links:
        spread = f" ± {100 * link.share_ci95:4.1f}" if link.share_ci95 == link.share_ci95 else ""
        lines.append(f"  {100 * link.share:5.1f}%{spread}  {link.length:.4f} ± {link.ci95:.4f}  "
                     f"τ = {link.agreement['kendall_tau']:+.3f}  {link.title}")
    if why.links:
        lines.append(f"  path {why.path:.4f}, direct difference {why.direct.mean:.4f}, slack "
                     f"{why.slack:.4f}; {why.orders} order{'s' if why.orders > 1 else ''} of the axes; ± is "
                     f"a 95% t interval over {over(why)}")
    return "\n".join([*lines, *why.by_order, *why.notes])


def _causes(why: Explanation) -> list[str]:
    return list(dict.fromkeys(cause for link in why.links for cause in link.causes))
