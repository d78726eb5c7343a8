"""An explanation as data for explanation.json, and as text for the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.analysis.explanation import Explanation


def as_data(found: Explanation) -> dict[str, Any]:
    """An explanation as plain data."""
    return {"sentence": found.sentence, "links": [asdict(link) for link in found.links],
            "direct": found.direct.mean, "path": found.path, "slack": found.slack, "orders": found.orders,
            "n_seeds": found.n_seeds, "interval_over": found.direct.interval_over,
            "agreement": {name: {"mean": agreement.mean, "ci95": agreement.ci95}
                          for name, agreement in found.whole.items()},
            "brackets": {cause: list(found.bracket(cause)) for cause in _causes(found)},
            "ends": list(found.ends), "notes": [*found.by_order, *found.notes], "left_out": found.left_out}


def over(found: Explanation) -> str:
    """What intervals run over, in words."""
    return f"{found.n_seeds} seeds" if found.n_seeds > 1 else "queries"


def told(found: Explanation) -> str:
    """The sentence and the links, as text for the terminal."""
    lines = [found.sentence, *found.ends]
    for link in found.links:
        spread = f" ± {100 * link.share_ci95:4.1f}" if link.share_ci95 == link.share_ci95 else ""
        lines.append(f"  {100 * link.share:5.1f}%{spread}  {link.length:.4f} ± {link.ci95:.4f}  "
                     f"τ = {link.agreement['kendall_tau']:+.3f}  {link.title}")
    if found.links:
        lines.append(f"  the way is {found.path:.4f} long, and the ends are {found.direct.mean:.4f} apart: slack "
                     f"{found.slack:.4f}; {found.orders} order{'s' if found.orders > 1 else ''} of the axes; ± is "
                     f"a 95% t interval over {over(found)}")
    return "\n".join([*lines, *found.by_order, *found.notes])


def _causes(found: Explanation) -> list[str]:
    return list(dict.fromkeys(cause for link in found.links for cause in link.causes))
