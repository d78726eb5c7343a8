"""Why two specifications, or scores, disagree on a problem, as a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from pydantic import Field, InstanceOf

from engine.analysis.explanation import Explanation, explain
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import Problem
from engine.requests import Option, Request
from engine.requests.fields import Named
from engine.scoring.identities import ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from engine.store.results import Store


class ExplainRequest(Request[Explanation]):
    """Attribute a disagreement to behavior, intervention, training process and approximation error."""

    name: ClassVar = "explain"
    job: ClassVar = False
    several: ClassVar = True
    doing: ClassVar = "exact answers in between"
    outputs: ClassVar = {"out": "Output explanation."}
    suffixes: ClassVar = {"out": ".json"}

    named: Named
    between: Annotated[tuple[str, ...], Field(description=(
        "The names of the two to explain, as two options (default: the only two)."))] = ()
    others: Annotated[tuple[InstanceOf[Problem], ...], Option(read="others"), Field(description=(
        "The problem sampled with further seeds."))] = ()

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Explanation:
        first, second = (self.named[name] for name in self.pair)
        if self.others and any(isinstance(one, Scores) for one in self.named.values()):
            raise InvalidInput("Score files belong to one problem, but several are given; explain them on "
                               "their own problem.")
        return explain([problem, *self.others], first, second, options)

    @property
    def pair(self) -> tuple[str, str]:
        """The names of the two. Raises `InvalidInput` where there are no such two."""
        listed, between = ", ".join(f"`{name}`" for name in self.named), self.between
        if not between and len(self.named) == 2:
            first, second = self.named
            return first, second
        if len(between) != 2 or between[0] == between[1]:
            raise InvalidInput(f"There are {len(self.named)} to choose from, {listed}; " "name the two to explain.")
        for name in between:
            if name not in self.named:
                raise InvalidInput(f"No specification or score file is named `{name[:60]}`; choose from {listed}.")
        return between[0], between[1]

    def written(self, answer: Explanation, problem: Problem, output: str) -> dict[str, Any]:
        first, second = self.pair
        a, b = (one if isinstance(one, Scoring) else one.scoring for one in (self.named[first], self.named[second]))
        return {"first": first, "second": second, "specs": [a.canonical(), b.canonical()],
                "verdict": verdict(a, b, ProblemFacts.of(problem)).code, **as_data(answer)}

    def sentences(self, answer: Explanation) -> Sequence[str]:
        return as_lines(answer)

    def remarks(self, answer: Explanation) -> Sequence[str]:
        left_out = answer.left_out
        return [f"{left_out} candidates are left out {answer.lost.because}."] if left_out else []


def as_data(why: Explanation) -> dict[str, Any]:
    """An explanation as plain data."""
    causes = dict.fromkeys(cause for link in why.links for cause in link.causes)
    return {"sentence": why.sentence, "links": [asdict(link) for link in why.links],
            "direct": why.direct.mean, "path": why.path, "slack": why.slack, "orders": why.orders,
            "n_seeds": why.n_seeds, "interval_over": why.direct.interval_over,
            "agreement": {name: {"mean": agreement.mean, "ci95": agreement.ci95}
                          for name, agreement in why.whole.items()},
            "brackets": {cause: list(why.bracket(cause)) for cause in causes},
            "ends": list(why.ends), "notes": [*why.by_order, *why.notes], "left_out": why.left_out}


def as_lines(why: Explanation) -> list[str]:
    """The sentence and the links, as lines for the terminal."""
    lines = [why.sentence, *why.ends]
    for link in why.links:
        spread = f" ± {100 * link.share_ci95:4.1f}" if link.share_ci95 == link.share_ci95 else ""
        lines.append(f"  {100 * link.share:5.1f}%{spread}  {link.length:.4f} ± {link.ci95:.4f}  "
                     f"τ = {link.agreement['kendall_tau']:+.3f}  {link.title}")
    if why.links:
        over = f"{why.n_seeds} seeds" if why.n_seeds > 1 else "queries"
        lines.append(f"  path {why.path:.4f}, direct difference {why.direct.mean:.4f}, slack "
                     f"{why.slack:.4f}; {why.orders} order{'s' if why.orders > 1 else ''} of the axes; ± is "
                     f"a 95% t interval over {over}")
    return [*lines, *why.by_order, *why.notes]
