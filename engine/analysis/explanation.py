r"""Why two score arrays disagree: the way from one to the other, cut into links that have one cause each.

The way runs Â → exact(S_A) → … → exact(S_B) → B̂, the middle part over exact specifications that take one axis after
the other from S_B. Links are measured in Kendall distance, a metric (`engine.metrics.kendall.distance`), per query;
hence Σ links ≥ the distance of the two ends, and the excess is reported as slack. The axes can be changed in several
orders: the lengths are means over all of them, so that no order decides.

Stations are sets of causes that lie behind the reader: ∅ at Â, {error of A} at exact(S_A), and so on. A station may
be missing, because no specification stands there (`engine.scoring.intermediate`) or because its exact scores cannot be
computed. The links beside it then become one with several causes, and each of these has a bracket instead of a
share: it contributes between nothing and all of that link, as long as the way has no detour there.

Several seeds (problems drawn alike) each have their way; lengths and shares are means over them, with 95% t intervals.
A station that one of them misses is missing for all, so that the links are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from engine.analysis import trust
from engine.analysis.chain import ERROR_A, ERROR_B, NAMES, PARTS, Causes, Chain, chain
from engine.analysis.comparison import remarks_on
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import capital, signed
from engine.metrics.agreement import METRICS, MeanAgreement, constant, pairwise, summarize
from engine.metrics.intervals import known_mean, t_interval
from engine.metrics.kendall import distance
from engine.metrics.subsets import over_known
from engine.problems import Problem
from engine.scoring.compute import compute
from engine.scoring.identities import ProblemFacts
from engine.scoring.left_out import LeftOut
from engine.scoring.reference import SolveEvidence
from engine.scoring.resolution import left_out
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring

ORDER_MATTERS = 0.2
"""The share of the way by which a link's length may change with the order of the axes without a remark."""
DISTANCE = "distance"
LEAST_SLACK = 0.0005
"""Kendall distance that a sentence with three decimals can show."""


@dataclass(frozen=True)
class Contribution:
    """A part of the way with one cause, or with several that cannot be told apart.

    length: Kendall distance, mean over queries and then seeds, with its 95% t interval over seeds, or over queries
    where there is one seed. share: of the whole way. low, high: its mean length in the orders of the axes where it is
    shortest and longest. agreement: metric -> mean over queries between its two ends, averaged over orders. seeds: the
    share in each seed; share_ci95: its t interval over them, NaN where there is one.
    """

    causes: Causes
    title: str
    length: float
    ci95: float
    share: float
    low: float
    high: float
    agreement: Mapping[str, float]
    seeds: tuple[float, ...] = ()
    share_ci95: float = float("nan")


@dataclass(frozen=True)
class Explanation:
    """The links in the order of the way, and the whole.

    direct: Kendall distance of the two ends; path: the sum of the links; slack = path − direct ≥ 0. whole: the
    agreement of the ends. orders: how many orders of the axes were averaged. notes: readings of unfit pairs, why
    stations are missing, and what a reader must know of how A and B were computed. lost: candidates that are left out
    because of some station, summed over seeds. ends: which of the two answers is known to be right, and why.
    """

    links: tuple[Contribution, ...]
    titles: Mapping[str, str]
    direct: MeanAgreement
    path: float
    slack: float
    whole: Mapping[str, MeanAgreement]
    orders: int
    notes: tuple[str, ...]
    lost: LeftOut
    ends: tuple[str, ...] = ()

    def bracket(self, cause: str) -> tuple[float, float]:
        """The share of the way that a cause has at least, and at most: equal where no link mixes it with others."""
        alone = sum(link.share for link in self.links if link.causes == (cause,))
        mixed = sum(link.share for link in self.links if cause in link.causes and len(link.causes) > 1)
        return alone, alone + mixed

    @property
    def left_out(self) -> int:
        """How many candidates are left out."""
        return self.lost.count

    @property
    def n_seeds(self) -> int:
        return len(self.direct.per_seed)

    def __str__(self) -> str:
        return self.sentence

    @property
    def by_order(self) -> tuple[str, ...]:
        """A sentence for every link whose length depends much on the order of the axes: its share is then a mean over
        orders of causes that act together, not a length that it has by itself."""
        return tuple(f"{capital(link.title)} is between {link.low:.3f} and {link.high:.3f} long, "
                     "depending on the order in which the axes change: it interacts with the others."
                     for link in self.links if link.high - link.low > ORDER_MATTERS * self.path)

    @property
    def sentence(self) -> str:
        """The shares in words, largest first, each rounded to whole percent; slack, orders and what was dropped."""
        if not self.links:
            return "Both are the same scores, so there is nothing to explain."
        if self.path == 0:
            return "Both give the same ranking of the training examples, so there is no difference to attribute."
        ranked = sorted(zip([round(100 * link.share) for link in self.links], self.links, strict=True),
                        key=lambda pair: -pair[0])
        terms = [f"{percent}% {link.title}" for percent, link in ranked if percent]
        remarks = f" ({'; '.join(self._remarks)})" if self._remarks else ""
        return ", ".join([terms[0].replace("%", "% of the path is", 1), *terms[1:]]) + f"{remarks}.{self._unmoved}"

    @property
    def _unmoved(self) -> str:
        """The axes that differ, so that a verdict names them, and round to 0% of the path."""
        named = [link.title for link in self.links if set(link.causes) <= set(PARTS) and not round(100 * link.share)]
        return f" Less than 0.5% of it is {' and '.join(named)}, although specified differently." if named else ""

    @property
    def _remarks(self) -> list[str]:
        """What the shares leave out, and what they are means over."""
        causes = {cause for link in self.links for cause in link.causes}
        axes = [axis for axis in PARTS if axis in causes]
        orders = "one feasible order" if self.orders == 1 else f"mean over {self.orders} feasible orders"
        slack = [f"slack {self.slack:.3f} of {self.path:.3f}"] if self.slack > LEAST_SLACK else []
        count = self.direct.n_dropped
        dropped = [f"{count} constant {'query' if count == 1 else 'queries'} dropped"] if count else []
        if len(axes) < 2:
            return [*slack, *dropped]
        ends = ["errors enter at the ends only"] if causes & {ERROR_A, ERROR_B} else []
        return [*slack, f"{orders} of the axes", *ends, *dropped]


@dataclass(frozen=True)
class Seed:
    """What one seed has: the scores of A and B, and of `chain.needed` those that could be computed.

    exact: scoring -> scores; one that is left out is a missing station, for which `reasons` may hold a sentence.
    """

    a: Scores
    b: Scores
    exact: Mapping[Scoring, Scores]
    reasons: Mapping[Scoring, str] = field(default_factory=dict)


def measure(chain: Chain, seeds: Sequence[Seed]) -> Explanation:
    """The why over all seeds.

    Candidates that did not converge at a station, or missed their tolerance there, are left out of all, and counted;
    so are queries that a station ranks as constant (`direct.n_dropped`), as in a comparison.
    Raises `InvalidInput` where the arrays of a seed do not belong to one problem.
    """
    common = [scoring for scoring in chain.needed if all(scoring in seed.exact for seed in seeds)]
    reasons = {scoring: why for seed in seeds for scoring, why in seed.reasons.items()}
    sides = [seed.a for seed in seeds], [seed.b for seed in seeds]
    evidence = {arrays[0].scoring: SolveEvidence.of(arrays) for arrays in (
        *([seed.exact[scoring] for seed in seeds] for scoring in common), *sides)}
    titles = trust.titles(chain, evidence)
    each = [_measured(chain, titles, seed.a, seed.b, {scoring: seed.exact[scoring] for scoring in common}, reasons)
            for seed in seeds]
    why = each[0] if len(each) == 1 else _averaged(each)
    remarks = [remark for side in sides for remark in remarks_on(side)]
    return replace(why, notes=tuple(dict.fromkeys((*why.notes, *remarks, *_judged(chain, why, seeds)))),
                   ends=trust.ends(chain, evidence))


def _judged(chain: Chain, explanation: Explanation, seeds: Sequence[Seed]) -> list[str]:
    """How well each approximation ranks, where a link is its error alone: against the exact answer to its question."""
    count = (sum(len(seed.a.candidates) for seed in seeds) - explanation.left_out) // len(seeds)
    chance, said = METRICS["top_overlap"].chance(count, 0.05), []
    for link, scoring in ((link, scoring) for link in explanation.links for error, scoring in (
            (ERROR_A, chain.a), (ERROR_B, chain.b)) if link.causes == (error,) and not scoring.departures):
        tau, top = (signed(link.agreement[name], 3) for name in ("kendall_tau", "top_overlap"))
        said.append(f"{capital(scoring.route.title)} against the exact answer to its question: Kendall's τ {tau}, "
                    f"top-5% overlap {top} (chance {chance:.2g}).")
    return said


def _averaged(each: Sequence[Explanation]) -> Explanation:
    """Means over seeds, of explanations with the same links."""
    long = [one for one in each if one.path > 0]  # where the way has no length, nothing has a share of it
    links = []
    for index, link in enumerate(each[0].links):
        of_seeds = [one.links[index] for one in each]
        length, ci95 = t_interval([one.length for one in of_seeds])
        shares = tuple(one.links[index].share for one in long)
        fraction, share_ci95 = t_interval(shares) if shares else (0.0, float("nan"))
        agreement = {name: known_mean(np.array([one.agreement[name] for one in of_seeds])) for name in link.agreement}
        low, high = (float(np.mean([getattr(one, end) for one in of_seeds])) for end in ("low", "high"))
        links.append(Contribution(link.causes, link.title, length, ci95, fraction, low, high, agreement, shares,
                                  share_ci95))
    return Explanation(
        tuple(links), each[0].titles, _over_seeds([one.direct for one in each]),
        float(np.mean([one.path for one in each])), float(np.mean([one.slack for one in each])),
        {name: _over_seeds([one.whole[name] for one in each]) for name in each[0].whole}, each[0].orders,
        tuple(dict.fromkeys(note for one in each for note in one.notes)), LeftOut.joined([one.lost for one in each]))


def _over_seeds(agreements: Sequence[MeanAgreement]) -> MeanAgreement:
    """One agreement out of that of every seed."""
    return replace(summarize([[one.mean] for one in agreements]), n_queries=max(one.n_queries for one in agreements),
                   n_dropped=sum(one.n_dropped for one in agreements))


def _measured(chain: Chain, titles: Mapping[str, str], a: Scores, b: Scores, exact: Mapping[Scoring, Scores],
              reasons: Mapping[Scoring, str]) -> Explanation:
    """The explanation of one seed."""
    known = {**exact, a.scoring: a, b.scoring: b}
    arrays, at = [a, b], {frozenset(): 0, frozenset(chain.causes): 1}
    notes = [*chain.readings, *(_absent(behind, why) for behind, why in chain.missing.items())]
    indices = {id(a): 0, id(b): 1}
    for behind, scoring in chain.stations.items():
        if behind in at:
            continue
        if scoring not in known:
            notes.append(f"Exact scores of “{scoring.title}” are missing: "
                         f"{reasons.get(scoring, 'they were not computed.')}")
            continue
        scores = known[scoring]
        if id(scores) not in indices:
            indices[id(scores)] = len(arrays)
            arrays.append(scores)
        at[behind] = indices[id(scores)]
    _check(arrays)
    together = _together(arrays)
    if together.below_resolution:
        notes.append(f"{together.below_resolution:,} scores are below resolution; they are flagged and included.")
    if together.unranked or together.unsigned:
        notes.append(f"Scores {left_out(together.unranked, together.unsigned)}.")
    agreements = over_known(_measures, together.stack, together.known, together.signs)
    lengths = agreements.pop(DISTANCE)  # (M, M, m)
    ranked = ~np.isnan(lengths[0, 1])
    if not ranked.any():
        raise InvalidInput("Every query has a constant ranking somewhere on the path; choose other queries.")
    chains = list(_maximal_chains(sorted(at, key=len)))
    links = _links(titles, chain.causes, chains, at, lengths[..., ranked], agreements)
    path = sum(link.length for link in links)
    direct = summarize(lengths[0, 1], interval_over="queries")
    whole = {name: summarize(values[0, 1], interval_over="queries") for name, values in agreements.items()}
    slack = max(0.0, path - direct.mean) if links else 0.0
    return Explanation(links, titles, direct, path, slack, whole, len(chains), tuple(dict.fromkeys(notes)),
                       LeftOut.of(arrays))


def _together(arrays: Sequence[Scores]) -> Together:
    """The arrays over the candidates that converged at every station."""
    together = Together.of(arrays)
    if not together.converged.any():
        raise InvalidInput("No candidate has scores at every point of the path "
                           f"{LeftOut.of(arrays).because}; raise l2, or choose other candidates.")
    if np.isnan(together.stack).any():
        raise InvalidInput("Some scores are NaN and cannot be ranked; leave those queries out.")
    return together


def _measures(stack: np.ndarray) -> dict[str, np.ndarray]:
    """Every metric and the Kendall distance of all pairs (M, M, q); NaN for queries that an array ranks as constant."""
    flat = constant(stack).any(0)
    lengths = distance(torch.from_numpy(np.ascontiguousarray(stack))).numpy()
    measured = {**pairwise(stack, tuple(METRICS)), DISTANCE: lengths}
    return {name: np.where(flat, np.nan, values) for name, values in measured.items()}


def explain(problems: Problem | Sequence[Problem], a: Scoring | Scores, b: Scoring | Scores,
            options: Options | None = None) -> Explanation:
    """Why A and B disagree on a problem, or on several that were drawn alike: the seeds of an average.

    What is not given as scores is computed, the stations between them too. Raises `InvalidInput` for scores of
    another problem, and for several problems that differ in size or come with scores of one of them.
    """
    options, problems = options or Options(), list(problems) if isinstance(problems, Sequence) else [problems]
    _alike(problems, [side for side in (a, b) if isinstance(side, Scores)])
    scorings = [side.scoring if isinstance(side, Scores) else side for side in (a, b)]
    path = chain(scorings[0], scorings[1], problems[0].n, ProblemFacts.of(problems[0]))
    seeds = []
    for problem in problems:
        wanted = [side for side in (a, b) if not isinstance(side, Scores)]
        scores = dict(zip(wanted, compute(problem, wanted, options), strict=True)) if wanted else {}
        first, second = (side if isinstance(side, Scores) else scores[side] for side in (a, b))
        seeds.append(Seed(first, second, *exact_scores(problem, path.needed, options)))
    return measure(path, seeds)


def _alike(problems: Sequence[Problem], given: Sequence[Scores]) -> None:
    if not problems:
        raise InvalidInput("There is no problem to explain a disagreement on; give one, or several seeds of one.")
    if len({(problem.n, type(problem), len(problem.queries)) for problem in problems}) > 1:
        raise InvalidInput("The problems differ in model, training examples or queries, so they are not seeds of one "
                           "question; sample them with the same settings.")
    if len(problems) > 1 and given:
        raise InvalidInput(f"The scores of `{given[0].scoring.title}` belong to one problem, but several are given; "
                           "explain them on the problem that they were computed for.")
    for scores in given:
        belongs(problems[0], scores)


def exact_scores(problem: Problem, scorings: Sequence[Scoring], options: Options
                 ) -> tuple[dict[Scoring, Scores], dict[Scoring, str]]:
    """The scores of each scoring that can be computed, and why not of each that cannot."""
    try:
        return dict(zip(scorings, compute(problem, scorings, options), strict=True)), {}
    except InvalidInput:
        scores, reasons = {}, {}
    for scoring in scorings:
        try:
            scores[scoring] = compute(problem, scoring, options)[0]
        except InvalidInput as error:
            reasons[scoring] = str(error)
    return scores, reasons


def belongs(problem: Problem, scores: Scores) -> None:
    """Raises `InvalidInput` for scores of another problem."""
    shape = (len(problem.queries), len(problem.candidates))
    if scores.values.shape != shape or scores.provenance.get("data") != problem.fingerprint:
        raise InvalidInput(f"The scores of “{scores.scoring.title}” belong to another problem (these are for "
                           f"{shape[0]:,} queries and {shape[1]:,} candidates); import or compute them for this one.")


def _check(arrays: Sequence[Scores]) -> None:
    first = arrays[0]
    for scores in arrays[1:]:
        if (scores.values.shape != first.values.shape or not np.array_equal(scores.candidates, first.candidates)
                or scores.provenance.get("data") != first.provenance.get("data")):
            raise InvalidInput("The scores on the path belong to different problems; compute them on the same problem.")


def _maximal_chains(stations: Sequence[frozenset[str]]) -> Iterator[tuple[frozenset[str], ...]]:
    """Every way from the first station to the last that passes by none it could visit; `stations` by size."""
    last = stations[-1]

    def onward(here: frozenset[str]) -> Iterator[tuple[frozenset[str], ...]]:
        if here == last:
            yield (here,)
            return
        above = [other for other in stations if here < other]
        for after in above:
            if not any(between < after for between in above):
                for rest in onward(after):
                    yield (here, *rest)

    yield from onward(stations[0])


def _links(titles: Mapping[str, str], order: Causes, chains: Sequence[tuple[frozenset[str], ...]],
           at: Mapping[frozenset[str], int], lengths: np.ndarray, agreements: Mapping[str, np.ndarray]
           ) -> tuple[Contribution, ...]:
    by_causes: dict[Causes, list[tuple[int, int]]] = {}
    for stations in chains:
        for here, after in zip(stations, stations[1:], strict=False):
            causes = tuple(cause for cause in order if cause in after - here)
            by_causes.setdefault(causes, []).append((at[here], at[after]))
    path = float(sum(lengths[pair].mean() for pairs in by_causes.values() for pair in pairs)) / len(chains)
    links = []
    for causes, pairs in by_causes.items():
        each = np.stack([lengths[pair] for pair in pairs])  # (ways, m)
        mean = summarize(each.sum(0) / len(chains), interval_over="queries")
        between = {name: known_mean([known_mean(values[pair]) for pair in pairs] or [np.nan])
                   for name, values in agreements.items()}
        fraction = mean.mean / path if path > 0 else 0.0
        links.append(Contribution(causes, _joined(titles, causes), mean.mean, mean.ci95,
                                  fraction, float(each.mean(1).min()), float(each.mean(1).max()), between, (fraction,)))
    return tuple(sorted(links, key=lambda link: [order.index(cause) for cause in link.causes]))


def _joined(titles: Mapping[str, str], causes: Causes) -> str:
    if len(causes) == 1:
        return titles[causes[0]]
    named = [titles[cause] for cause in causes]
    return f"{', '.join(named[:-1])} and {named[-1]} together"


def _absent(behind: frozenset[str], why: str) -> str:
    taken = " and ".join(NAMES[axis] for axis in PARTS if axis in behind)
    return f"No specification has the {taken} of the second and the rest of the first: {why.split(';')[0]}."
