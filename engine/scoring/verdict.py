"""The verdict on two scorings: derived from specification and estimator, never typed in by hand.

What the table of identities (`engine.scoring.identities`) knows of the two is said, and a difference is claimed only
where it was measured. An approximation is blamed only where the other end is known to be right
(`engine.scoring.reference`). Every sentence is a claim (`engine.scoring.said`), which a test holds against the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10, nan

from engine.basics.errors import InvalidInput
from engine.basics.values import capital, short
from engine.question.runs import other_runs, run_and_mean
from engine.question.specification import AXES, Axis
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, Relation, relation
from engine.scoring.reference import How, SolveEvidence, standing
from engine.scoring.said import IN_COMMON, Said, Says, axes_differ, changes, titles
from engine.scoring.scoring import Scoring

SAME = "same scores"
APPROXIMATION = "approximation error"
MISMATCH = "specification mismatch"
BOTH = "both"
NO_SPECIFICATION = "no specification"
ANOTHER_RUN = "another run"

CLOSE = 1e-5
"""Of the standard deviation of a query's scores: about a hundred units in the last place of single precision, which is
what an inner product over many parameters is left with; two programs for one estimator differ by that."""
CLOSE_ORDER = 1 - 1e-3
"""τ where as few as 5 of 10,000 pairs change places, which ties within `CLOSE` can make."""


@dataclass(frozen=True)
class Measured:
    """What the two arrays at hand show.

    equal: to rounding. alike: every query ranks the candidates the same. remarks: sentences on how they were computed.
    distance: the most by which two oriented scores differ, over the standard deviation of their query's scores. least:
    the smallest τ of a query. NaN where they were not measured. evidence: scoring -> what computing it showed.
    """

    equal: bool
    alike: bool
    remarks: tuple[str, ...] = ()
    distance: float = nan
    least: float = nan
    evidence: Mapping[Scoring, SolveEvidence] = field(default_factory=dict)

    @property
    def close(self) -> bool:
        """Whether the two arrays are the same but for what single precision leaves of a score."""
        return self.distance <= CLOSE and self.least >= CLOSE_ORDER


@dataclass(frozen=True)
class Verdict:
    """Why two score arrays may differ.

    kind: `same scores`, `approximation error`, `specification mismatch` or `both`, `no specification` where one is a
    baseline, and `another run` where exact answers are of different single runs, or means over different runs. axes:
    those on which the questions differ; none where an identity makes them one question. headline: the badge. reason:
    some sentences. claims: what headline and reason say, in their order; empty where they were put together elsewhere.
    """

    kind: str
    axes: tuple[Axis, ...]
    headline: str
    reason: str
    claims: tuple[Said, ...] = ()

    @classmethod
    def of(cls, kind: str, axes: Sequence[Axis], head: Sequence[Said], body: Sequence[Said]) -> Verdict:
        """The claims of the headline run together, those of the reason are sentences."""
        return cls(kind, tuple(axes), "".join(said.text for said in head), " ".join(said.text for said in body),
                   (*head, *body))

    @property
    def code(self) -> str:
        """As written in agreement.csv, e.g. `specification mismatch on {B,T}`."""
        return f"{self.kind} on {{{','.join(self.axes)}}}" if self.axes else self.kind

    @property
    def differs(self) -> frozenset[Axis]:
        """The axes on which the questions differ."""
        return frozenset(self.axes)

    def and_then(self, *further: Said) -> Verdict:
        """With more sentences at the end of the reason, if there are any."""
        return replace(self, reason=" ".join((self.reason, *(said.text for said in further))),
                       claims=(*self.claims, *further))

    def __str__(self) -> str:
        return f"{self.headline}. {self.reason}"


def verdict(a: Scoring, b: Scoring, facts: ProblemFacts = EVERY_PROBLEM, measured: Measured | None = None) -> Verdict:
    """Compare two scorings: do they answer the same question, and does each answer it exactly?

    facts: of the problem; without them only identities that hold of every problem count. measured: what their scores
    show, where they are at hand.
    """
    result = _verdict(a, b, facts, measured)
    return result.and_then(*(Said(Says.HOW_COMPUTED, remark) for remark in measured.remarks)) if measured else result


def _verdict(a: Scoring, b: Scoring, facts: ProblemFacts, measured: Measured | None) -> Verdict:
    known = relation(a, b, facts)
    if known and known.gives is Gives.EQUAL:
        return _same(a, b, known)
    baselines = [scoring for scoring in (a, b) if not scoring.route.implies]
    if baselines:
        return _no_question(baselines)
    axes = _parting(a, b, facts)
    approximate = [scoring for scoring in (a, b) if not scoring.exact]
    questions = _questions_related(a, b, facts)
    if questions and questions.gives is Gives.EQUAL and measured and measured.close:
        return _same_to_a_distance(a, b, approximate, measured)
    if questions and questions.gives is Gives.EQUAL:
        return _approximate(a, b, facts, questions.reasons, known, measured)
    if not approximate and axes == ("T",) and other_runs(a.process, b.process):
        return _another_run(a, b).and_then(*_in_common(a, b, None, measured))
    if not approximate:
        head = [Said(Says.QUESTIONS_DIFFER, f"Different question: {axes_differ(axes)}", (a, b), axes)]
        return Verdict.of(MISMATCH, axes, [*head, *_yet(a, b, known, measured)], _mismatch(a, b, axes, known, measured))
    head = [Said(Says.QUESTIONS_DIFFER, f"Both: {axes_differ(axes)}, and ", (a, b), axes),
            Said(Says.APPROXIMATES, f"{_count(approximate)} approximate", tuple(approximate))]
    return Verdict.of(BOTH, axes, [*head, *_yet(a, b, known, measured)],
                        _both(a, b, axes, facts, known, questions, measured))


def _questions_related(a: Scoring, b: Scoring, facts: ProblemFacts) -> Relation | None:
    """What the exact answers to the two questions have in common. Of departures no identity knows anything."""
    if a.departures or b.departures:
        return Relation(Gives.EQUAL) if not a.differing_axes(b) else None
    return relation(a.exact_answer, b.exact_answer, facts)


def _parting(a: Scoring, b: Scoring, facts: ProblemFacts) -> tuple[Axis, ...]:
    """The axes that part two questions: those on which they are written differently, without those on which an identity
    makes them one, as a recipe's own steps do for a network; all where nothing would be left."""
    axes = a.differing_axes(b)
    return tuple(axis for axis in axes if not _one_on(axis, a, b, facts)) or axes


def _one_on(axis: Axis, a: Scoring, b: Scoring, facts: ProblemFacts) -> bool:
    """Whether neither exact answer changes where an axis is taken over from the other."""
    if a.departures_on(axis) != b.departures_on(axis):
        return False
    for own, other in ((a, b), (b, a)):
        values = [(other if axis == position else own) for position in AXES]
        try:
            moved = Scoring.of(values[0].behavior, values[1].intervention, values[2].process)
        except InvalidInput:
            return False
        related = relation(own.exact_answer, moved, facts)
        if related is None or related.gives is not Gives.EQUAL:
            return False
    return True


def _same(a: Scoring, b: Scoring, known: Relation) -> Verdict:
    if a == b:
        return Verdict.of(SAME, (), [Said(Says.SAME_SPECIFICATION, "Same question, same answer", (a, b))], [
            Said(Says.SAME_SPECIFICATION, "Both are the same specification, scored the same way.", (a, b))])
    changed = changes(a, b, a.differing_axes(b))
    written = f"They are written differently ({changed}), and their" if changed else "Their"
    return Verdict.of(SAME, (), [Said(Says.EQUAL, "Same question, same answer", (a, b))], [
        Said(Says.EQUAL, f"{written} scores are equal: {_because(known)}.", (a, b))])


def _same_to_a_distance(a: Scoring, b: Scoring, approximate: Sequence[Scoring], measured: Measured) -> Verdict:
    """Two answers to one question that no error tells apart, although one or both may be approximate."""
    to = short(_up(measured.distance)) if measured.distance >= 1e-16 else "the last digit"
    least = floor(measured.least * 1e4) / 1e4
    tau = "1" if least == 1 else f"{least:.4f} or more"
    body = [*_one_question(a, b, ()), Said(
        Says.SAME_TO_A_DISTANCE, f"No two of their scores differ by more than {to} of the standard deviation of a "
        f"query's scores, and Kendall's τ is {tau} for every query.",
        (a, b))]
    if len(approximate) == 2:
        body.append(Said(Says.APPROXIMATES, "How far both are from the exact answer is a separate question.", (a, b)))
    return Verdict.of(SAME, (), [
        Said(Says.ONE_QUESTION, "Same question, ", (a.exact_answer, b.exact_answer)),
        Said(Says.SAME_TO_A_DISTANCE, f"same scores to {to}", (a, b))], body)


def _up(value: float) -> float:
    """A positive number rounded up to one digit, so that it bounds what it was."""
    unit = 10.0 ** floor(log10(value))
    return float(f"{ceil(value / unit) * unit:.0e}")


def _another_run(a: Scoring, b: Scoring) -> Verdict:
    """Of two exact answers that nothing but their runs tells apart."""
    if run_and_mean(a.process, b.process):
        return _run_and_mean(a, b)
    changed, of = changes(a, b, ("T",)), (a, b)
    if not a.process.one_model:
        return Verdict.of(ANOTHER_RUN, (), [Said(Says.ANOTHER_RUN, "Same question about other runs", of)], [
            Said(Says.ANOTHER_RUN, "Both are computed exactly, and are means over different training runs "
                 f"({changed}). They estimate one expectation, and differ by the sampling error of a finite number of "
                 "runs.", of)])
    return Verdict.of(ANOTHER_RUN, (), [Said(Says.ANOTHER_RUN, "Same question about another run", of)], [
        Said(Says.ANOTHER_RUN, f"Both are computed exactly and differ in the seed alone ({changed}). A seed is part "
             "of the training process: the difference is how much single runs vary, and would vanish in a mean over "
             "many seeds.", of)])


def _run_and_mean(a: Scoring, b: Scoring) -> Verdict:
    """A single run and the mean over runs are two estimands."""
    said = ("Both are computed exactly, and the training process differs: one is the answer of a single training run, "
            f"the other the mean over several ({changes(a, b, ('T',))}). A single run depends on its seed; the mean "
            "depends on the seeds less as the number of runs grows.")
    return Verdict.of(MISMATCH, ("T",), [
        Said(Says.RUN_AND_MEAN, "Different question: one run · mean of runs", (a, b), ("T",))], [
        Said(Says.RUN_AND_MEAN, said, (a, b), ("T",))])


def _no_question(baselines: Sequence[Scoring]) -> Verdict:
    """Of baselines there is nothing to derive."""
    which, of = titles(baselines), tuple(baselines)
    verb = "implies" if len(baselines) == 1 else "imply"
    notes = " ".join(dict.fromkeys(scoring.route.note for scoring in baselines))
    head = Said(Says.NO_QUESTION, f"No question to compare: {which} {verb} no specification", of)
    return Verdict.of(NO_SPECIFICATION, (), [head], [Said(
        Says.NO_QUESTION, f"{capital(which)} {verb} no specification, so the difference between the two rankings is "
        f"neither approximation error nor specification mismatch. {notes}", of)])


def _approximate(a: Scoring, b: Scoring, facts: ProblemFacts, reasons: Sequence[str], known: Relation | None,
                 measured: Measured | None) -> Verdict:
    """Of one question, answered approximately once or twice."""
    approximate = [scoring for scoring in (a, b) if not scoring.exact]
    if len(approximate) == 2:
        count, end = Said(Says.APPROXIMATES, "both answers are approximate", tuple(approximate)), [
            *_approximation(approximate, facts), _what_they_do(a, b, known, measured),
            Said(Says.NEITHER_RIGHT, "neither is known to be right.", (a, b))]
    else:
        count, end = _judged(*((a, b) if a.exact else (b, a)), facts, known, measured)
    head = [Said(Says.ONE_QUESTION, "Same question, ", (a.exact_answer, b.exact_answer)), count]
    return Verdict.of(APPROXIMATION, (), head, [
        *_one_question(a, b, reasons), *end, *_in_common(a, b, known, measured)])


def _one_question(a: Scoring, b: Scoring, reasons: Sequence[str]) -> list[Said]:
    """Why two that are written differently ask the same; nothing of two that are not."""
    exact, changed = (a.exact_answer, b.exact_answer), changes(a, b, a.differing_axes(b))
    said = [f"The two are one question, written differently ({changed})."] if changed else []
    return [Said(Says.ONE_QUESTION, text, exact) for text in (*said, *([_sentence(reasons)] if reasons else []))]


def _judged(exact: Scoring, approximate: Scoring, facts: ProblemFacts, known: Relation | None,
            measured: Measured | None) -> tuple[Said, list[Said]]:
    """What the headline says of two answers of which one is exact, and whether the other one is to blame."""
    standing_of = standing(exact, facts, (measured.evidence if measured else {}).get(exact), approximate)
    what = Said(Says.APPROXIMATES, f"{_approximating([approximate])}.", (approximate,))
    one = Said(Says.APPROXIMATES, "one answer is approximate", (approximate,))
    if standing_of.trusted:
        return one, [what, Said(Says.TRUSTED, f"The exact answer is known to be right: {standing_of.why}.", (exact,)),
                     Said(Says.BLAMED, f"The whole difference is the error of {approximate.route.title}.",
                          (exact, approximate))]
    if standing_of.how is How.UNMEASURED:
        return one, [what, Said(Says.UNDECIDED, "Whether the exact answer is right is known only after it is "
                                f"computed: the computation measures {standing_of.why}.", (exact, approximate))]
    of = exact, approximate
    return Said(Says.NEITHER_RIGHT, "neither answer is known to be right", of), [
        what, _what_they_do(exact, approximate, known, measured),
        Said(Says.NEITHER_RIGHT, f"neither is known to be right: {standing_of.why}.", of)]


def _what_they_do(a: Scoring, b: Scoring, known: Relation | None, measured: Measured | None) -> Said:
    """The beginning of a sentence on two answers to one question."""
    if known:
        return Said(Says.RANKING, "These two rank alike;", (a, b))
    if measured is None:
        return Said(Says.ONE_QUESTION, "Of these two answers to one question", (a.exact_answer, b.exact_answer))
    if measured.equal or measured.alike:
        return Said(Says.ALIKE_HERE, "These two rank alike here;", (a, b))
    return Said(Says.DISAGREE, "These two disagree;", (a, b))


def _mismatch(a: Scoring, b: Scoring, axes: Sequence[Axis], known: Relation | None, measured: Measured | None
              ) -> list[Said]:
    changed, axes, of = changes(a, b, axes), tuple(axes), (a, b)
    if known or (measured and (measured.equal or measured.alike)):
        return [Said(Says.QUESTIONS_DIFFER, f"The questions differ ({changed}).", of, axes),
                *_in_common(a, b, known, measured)]
    if measured is None:
        return [Said(Says.MAY_DIFFER, f"They may differ even if both were computed exactly ({changed}).", of, axes)]
    return [Said(Says.DIFFER, f"They differ although both are computed exactly ({changed}).", of, axes)]


def _both(a: Scoring, b: Scoring, axes: Sequence[Axis], facts: ProblemFacts, known: Relation | None,
          questions: Relation | None, measured: Measured | None) -> list[Said]:
    """known: of the scores themselves; questions: of the exact answers to the two questions."""
    changed, of, approximate = changes(a, b, axes), (a, b), [scoring for scoring in (a, b) if not scoring.exact]
    nothing = known is None and questions is None
    if nothing and measured is None:
        said = [Said(Says.MAY_DIFFER, f"They may differ even if both were computed exactly ({changed}).", of,
                     tuple(axes))]
    else:
        said = [Said(Says.QUESTIONS_DIFFER, f"The questions differ ({changed}).", of, tuple(axes))]
        if not nothing:
            said += _in_common(a, b, known) if known else _in_common(
                a.exact_answer, b.exact_answer, questions, where="Computed exactly, ")
    said += [Said(Says.OTHER_QUESTION, f"{capital(titles([scoring]))} answers for {departure.answers_for}.", (scoring,))
             for scoring, other in ((a, b), (b, a)) for departure in scoring.departures
             if departure not in other.departures]
    said += _approximation(approximate, facts)
    if nothing and measured and not (measured.equal or measured.alike):
        said.append(Said(Says.NOT_DISTINGUISHED, "They differ here; only exact answers to both separate the effect of "
                         "the questions from that of the approximation.", of))
    return [*said, *([] if known else _in_common(a, b, None, measured))]


def _in_common(a: Scoring, b: Scoring, known: Relation | None, measured: Measured | None = None, where: str = ""
               ) -> list[Said]:
    """A sentence on what the scores have in common although they may differ; none where there is nothing."""
    if known:
        sentences = {Gives.EQUAL: "their scores are equal",
                     Gives.PROPORTIONAL: "their scores are proportional for every query",
                     Gives.SHIFTED: "their scores are the same up to a constant per query",
                     Gives.RANKING: "they rank training examples the same"}[known.gives]
        text = f"{where}{sentences}" if where else capital(sentences)
        return [Said(IN_COMMON[known.gives], f"{text}: {_because(known)}.", (a, b))]
    if measured and measured.equal:
        return [Said(Says.EQUAL_HERE, "They are equal here, reason unknown.", (a, b))]
    if measured and measured.alike:
        return [Said(Says.ALIKE_HERE, "They rank alike here, reason unknown.", (a, b))]
    return []


def _yet(a: Scoring, b: Scoring, known: Relation | None, measured: Measured | None) -> list[Said]:
    """What a headline adds of two that differ in their questions."""
    if known:
        return [Said(Says.RANKING, "; same ranking", (a, b))]
    if measured and measured.equal:
        return [Said(Says.EQUAL_HERE, "; equal here, reason unknown", (a, b))]
    return [Said(Says.ALIKE_HERE, "; same ranking here, reason unknown", (a, b))] if measured and measured.alike else []


def _because(known: Relation) -> str:
    return "; ".join(known.reasons)


def _sentence(reasons: Sequence[str]) -> str:
    return f"{capital('; '.join(reasons))}."


def _count(approximate: Sequence[Scoring]) -> str:
    return "one answer is" if len(approximate) == 1 else "both answers are"


def _approximation(approximate: Sequence[Scoring], facts: ProblemFacts) -> list[Said]:
    """Who approximates what, and with which exact scores that can be measured."""
    plain = [scoring for scoring in approximate if not scoring.departures]
    departed = [scoring for scoring in approximate if scoring.departures]
    said = []
    if plain:
        searched = [scoring for scoring in plain
                    if standing(scoring.exact_answer, facts, judged=scoring).how is How.SEARCH]
        how = "there `exact` is itself a search, which is inconclusive" if searched else (
            "compare with `exact` under the same specification to see by how much")
        said.append(Said(Says.APPROXIMATES, f"{_approximating(plain)}; {how}.", tuple(plain)))
    if departed:
        verb = "approximates its" if len({scoring.estimator for scoring in departed}) == 1 else "approximate their"
        said.append(Said(Says.APPROXIMATES, f"{capital(titles(departed))} {verb} own estimand, which has no exact "
                         "route here.", tuple(departed)))
    return said


def _approximating(approximate: Sequence[Scoring]) -> str:
    verb = "approximates" if len({scoring.estimator for scoring in approximate}) == 1 else "approximate"
    return f"{capital(titles(approximate))} {verb} the estimand"
