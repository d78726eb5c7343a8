r"""Why two score arrays disagree: the way from one to the other, cut into links that have one cause each.

The way runs Â → exact(S_A) → … → exact(S_B) → B̂, the middle part over exact specifications that take one axis after
the other from S_B. Links are measured in Kendall distance, a metric (`engine.kendall.distance`), per query; hence
Σ links ≥ the distance of the two ends, and the excess is reported as slack. The axes can be changed in several
orders: the lengths are means over all of them, so that no order decides.

Stations are sets of causes that lie behind the reader: ∅ at Â, {error of A} at exact(S_A), and so on. A station may
be missing, because no specification stands there (`engine.intermediate`) or because its exact scores cannot be
computed. The links beside it then become one with several causes, and each of these has a bracket instead of a
share: it contributes between nothing and all of that link, as long as the way has no detour there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch

from engine.agreement import METRICS, Agreement, pairwise, summarize
from engine.compute import compute
from engine.errors import InvalidInput
from engine.exact.response import Options
from engine.intermediate import intermediate
from engine.kendall import distance
from engine.scores import Scores
from engine.scoring import Scoring
from engine.specification import AXES, AXIS_NAMES

ERROR_A, ERROR_B = "error of A", "error of B"
Causes = tuple[str, ...]
"""Of `error of A`, B, P, T and `error of B`, in this order."""
ORDER = (ERROR_A, *AXES, ERROR_B)


@dataclass(frozen=True)
class Chain:
    """The stations between two scorings. stations: the causes behind -> the exact scoring there.

    missing: the causes behind -> why no specification stands there. readings: how unfit pairs were read.
    """

    a: Scoring
    b: Scoring
    causes: Causes
    stations: Mapping[frozenset[str], Scoring]
    missing: Mapping[frozenset[str], str]
    readings: tuple[str, ...]

    @property
    def needed(self) -> tuple[Scoring, ...]:
        """The exact scorings that `measure` reads, each once; A and B themselves are not among them."""
        return tuple(dict.fromkeys(scoring for scoring in self.stations.values() if scoring not in (self.a, self.b)))

    @property
    def titles(self) -> dict[str, str]:
        """What a sentence calls each cause."""
        errors = {ERROR_A: _route(self.a), ERROR_B: _route(self.b)}
        if errors[ERROR_A] == errors[ERROR_B] and {ERROR_A, ERROR_B} <= set(self.causes):
            errors = {ERROR_A: f"{errors[ERROR_A]} in the first answer", ERROR_B: f"{errors[ERROR_B]} in the second"}
        return {**{axis: f"the {AXIS_NAMES[axis]}" for axis in AXES},
                **{error: f"the approximation error of {route}" for error, route in errors.items()}}


def chain(a: Scoring, b: Scoring, n: int) -> Chain:
    """The stations from A to B, with n training examples."""
    axes = a.differing_axes(b)
    start = () if a.exact else (ERROR_A,)
    causes = (*start, *axes, *(() if b.exact else (ERROR_B,)))
    stations: dict[frozenset[str], Scoring] = {}
    missing, readings = {}, []
    for size in range(len(axes) + 1):
        for taken in combinations(axes, size):
            parts = [(b if axis in taken else a) for axis in AXES]
            found = intermediate(parts[0].behavior, parts[1].intervention, parts[2].process, n)
            behind = frozenset((*start, *taken))
            if found.scoring is None:
                missing[behind] = found.reading
            else:
                stations[behind] = found.scoring
                readings += [found.reading] if found.reading else []
    return Chain(a, b, causes, stations, missing, tuple(dict.fromkeys(readings)))


@dataclass(frozen=True)
class Link:
    """A part of the way with one cause, or with several that cannot be told apart.

    length: Kendall distance, mean over queries, with its 95% t interval over queries. share: of the whole way. low,
    high: its mean length in the orders of the axes where it is shortest and longest. agreement: metric -> mean over
    queries between its two ends, averaged over orders.
    """

    causes: Causes
    title: str
    length: float
    ci95: float
    share: float
    low: float
    high: float
    agreement: Mapping[str, float]


@dataclass(frozen=True)
class Explanation:
    """The links in the order of the way, and the whole.

    direct: Kendall distance of the two ends; path: the sum of the links; slack = path − direct ≥ 0. whole: the
    agreement of the ends. orders: how many orders of the axes were averaged. notes: readings of unfit pairs, and why
    stations are missing. left_out: candidates that did not converge at some station.
    """

    links: tuple[Link, ...]
    titles: Mapping[str, str]
    direct: Agreement
    path: float
    slack: float
    whole: Mapping[str, Agreement]
    orders: int
    notes: tuple[str, ...]
    left_out: int

    def bracket(self, cause: str) -> tuple[float, float]:
        """The share of the way that a cause has at least, and at most: equal where no link mixes it with others."""
        alone = sum(link.share for link in self.links if link.causes == (cause,))
        mixed = sum(link.share for link in self.links if cause in link.causes and len(link.causes) > 1)
        return alone, alone + mixed

    @property
    def sentence(self) -> str:
        """The shares in words, largest first, in whole percent that add up to 100."""
        if not self.links:
            return "Both are the same scores, so there is nothing to explain."
        if self.path == 0:
            return "Both rank every training example alike, so there is no way to share out."
        ranked = sorted(zip(_percent([link.share for link in self.links]), self.links, strict=True),
                        key=lambda pair: -pair[0])
        told = [f"{percent}% {link.title}" for percent, link in ranked if percent]
        return ", ".join([told[0].replace("%", "% of the way is", 1), *told[1:]]) + "."


def measure(chain: Chain, a: Scores, b: Scores, exact: Mapping[Scoring, Scores],
            reasons: Mapping[Scoring, str] | None = None) -> Explanation:
    """The explanation, from the scores of A and B and the exact ones that could be computed.

    exact: scoring -> scores, of `chain.needed`; one that is left out is a missing station, for which `reasons` may
    hold a sentence. Candidates that did not converge at a station are left out of all, and counted.
    Raises `InvalidInput` where the arrays do not belong to one problem.
    """
    reasons = reasons or {}
    known = {**exact, **({a.scoring: a} if a.scoring.exact else {}), **({b.scoring: b} if b.scoring.exact else {})}
    arrays, at = [a, b], {frozenset(): 0, frozenset(chain.causes): 1}
    notes = [*chain.readings, *(_absent(behind, why) for behind, why in chain.missing.items())]
    places = {id(a): 0, id(b): 1}
    for behind, scoring in chain.stations.items():
        if behind in at:
            continue
        if scoring not in known:
            notes.append(f"Exact scores of “{scoring.title}” are missing: "
                         f"{reasons.get(scoring, 'they were not computed.')}")
            continue
        scores = known[scoring]
        if id(scores) not in places:
            places[id(scores)] = len(arrays)
            arrays.append(scores)
        at[behind] = places[id(scores)]
    _check(arrays)
    kept = np.logical_and.reduce([scores.converged for scores in arrays])
    if not kept.any():
        raise InvalidInput("No candidate converged at every station of the way; raise l2, or choose other candidates.")
    stack = np.stack([scores.oriented[:, kept] for scores in arrays])
    if np.isnan(stack).any():
        raise InvalidInput("Some scores are not numbers (NaN), so they have no ranking; leave those queries out.")
    lengths = distance(torch.from_numpy(stack)).numpy()  # (M, M, m)
    agreements = pairwise(stack, tuple(METRICS))
    chains = list(_maximal_chains(sorted(at, key=len)))
    links = _links(chain, chains, at, lengths, agreements)
    path = sum(link.length for link in links)
    direct = summarize(lengths[0, 1], interval_over="queries")
    whole = {name: summarize(values[0, 1], interval_over="queries") for name, values in agreements.items()}
    slack = max(0.0, path - direct.mean) if links else 0.0
    return Explanation(links, chain.titles, direct, path, slack, whole, len(chains), tuple(dict.fromkeys(notes)),
                       int((~kept).sum()))


def explain(problem, a: Scoring | Scores, b: Scoring | Scores, options: Options | None = None) -> Explanation:
    """Why A and B disagree on a problem: what is not given as scores is computed, the stations between them too."""
    options = options or Options()
    given = [scores for scores in (a, b) if isinstance(scores, Scores)]
    for scores in given:
        belongs(problem, scores)
    scorings = [side.scoring if isinstance(side, Scores) else side for side in (a, b)]
    way = chain(*scorings, problem.n)
    wanted = [side for side in (a, b) if not isinstance(side, Scores)]
    found = dict(zip(wanted, compute(problem, wanted, options), strict=True)) if wanted else {}
    first, second = (side if isinstance(side, Scores) else found[side] for side in (a, b))
    exact, reasons = exact_scores(problem, [s for s in way.needed if s not in found], options)
    return measure(way, first, second, {**{s: found[s] for s in way.needed if s in found}, **exact}, reasons)


def exact_scores(problem, scorings: Sequence[Scoring], options: Options
                 ) -> tuple[dict[Scoring, Scores], dict[Scoring, str]]:
    """The scores of each scoring that can be computed, and why not of each that cannot."""
    try:
        return dict(zip(scorings, compute(problem, scorings, options), strict=True)), {}
    except InvalidInput:
        found, reasons = {}, {}
    for scoring in scorings:
        try:
            found[scoring] = compute(problem, scoring, options)[0]
        except InvalidInput as error:
            reasons[scoring] = str(error)
    return found, reasons


def belongs(problem, scores: Scores) -> None:
    """Raises `InvalidInput` for scores of another problem."""
    shape = (len(problem.queries), len(problem.candidates))
    if scores.values.shape != shape or scores.provenance.get("data") != problem.fingerprint:
        raise InvalidInput(f"The scores of “{scores.scoring.title}” belong to another problem (these are for "
                           f"{shape[0]:,} queries and {shape[1]:,} candidates); bring or compute them for this one.")


def _check(arrays: Sequence[Scores]) -> None:
    first = arrays[0]
    for scores in arrays[1:]:
        if (scores.values.shape != first.values.shape or not np.array_equal(scores.candidates, first.candidates)
                or scores.provenance.get("data") != first.provenance.get("data")):
            raise InvalidInput("The scores along the way belong to different problems, queries or candidates; compute "
                               "them on the same problem.")


def _maximal_chains(stations: Sequence[frozenset[str]]):
    """Every way from the first station to the last that passes by none it could visit; `stations` by size."""
    last = stations[-1]

    def onward(here: frozenset[str]):
        if here == last:
            yield (here,)
            return
        above = [other for other in stations if here < other]
        for after in above:
            if not any(between < after for between in above):
                for rest in onward(after):
                    yield (here, *rest)

    yield from onward(stations[0])


def _links(chain: Chain, chains, at, lengths: np.ndarray, agreements) -> tuple[Link, ...]:
    found: dict[Causes, list[tuple[int, int]]] = {}
    for way in chains:
        for here, after in zip(way, way[1:], strict=False):
            causes = tuple(cause for cause in ORDER if cause in after - here)
            found.setdefault(causes, []).append((at[here], at[after]))
    path = float(sum(lengths[pair].mean() for pairs in found.values() for pair in pairs)) / len(chains)
    links = []
    for causes, pairs in found.items():
        each = np.stack([lengths[pair] for pair in pairs])  # (ways, m)
        mean = summarize(each.sum(0) / len(chains), interval_over="queries")
        between = {name: float(np.nanmean([_mean(values[pair]) for pair in pairs] or [np.nan]))
                   for name, values in agreements.items()}
        links.append(Link(causes, _joined(chain.titles, causes), mean.mean, mean.ci95,
                          mean.mean / path if path > 0 else 0.0, float(each.mean(1).min()),
                          float(each.mean(1).max()), between))
    return tuple(sorted(links, key=lambda link: [ORDER.index(cause) for cause in link.causes]))


def _mean(values: np.ndarray) -> float:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else float("nan")


def _joined(titles: Mapping[str, str], causes: Causes) -> str:
    if len(causes) == 1:
        return titles[causes[0]]
    named = [titles[cause] for cause in causes]
    return f"{', '.join(named[:-1])} and {named[-1]} together"


def _absent(behind: frozenset[str], why: str) -> str:
    taken = " and ".join(AXIS_NAMES[axis] for axis in AXES if axis in behind)
    return f"No specification has the {taken} of the second and the rest of the first: {why.split(';')[0]}."


def _route(scoring: Scoring) -> str:
    """An estimator's name inside a sentence: `conjugate gradients` rather than `inverse Hessian (Conjugate …)`."""
    title = scoring.route.title
    if title.startswith("inverse Hessian ("):
        title = title.removeprefix("inverse Hessian (").removesuffix(")")
    return title[0].lower() + title[1:] if " " in title else title


def _percent(shares: Sequence[float]) -> list[int]:
    """Whole percents that add up to 100, by largest remainder."""
    exact = [100.0 * share for share in shares]
    whole = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])
    for place in by_remainder[:100 - sum(whole)]:
        whole[place] += 1
    return whole
