"""The verdict on two scorings: derived from specification and estimator, never typed in by hand.

What the table of identities (`engine.scoring.identities`) knows of the two is said, and a difference is claimed only
where it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.question.runs import other_runs, run_and_mean
from engine.question.specification import AXIS_NAMES, Axis
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, Relation, relation
from engine.scoring.scoring import Scoring

SAME = "same scores"
APPROXIMATION = "approximation error"
MISMATCH = "specification mismatch"
BOTH = "both"
NO_SPECIFICATION = "no specification"
ANOTHER_RUN = "another run"


@dataclass(frozen=True)
class Measured:
    """What the two arrays at hand show.

    equal: to rounding. alike: every query ranks the candidates the same. remarks: sentences on how they were computed.
    """

    equal: bool
    alike: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Why two score arrays may differ.

    kind: `same scores`, `approximation error`, `specification mismatch` or `both`, `no specification` where one is a
    baseline, and `another run` where exact answers are of different single runs, or means over different runs. axes:
    those on which the questions differ; none where an identity makes them one question. headline: the badge. reason:
    some sentences.
    """

    kind: str
    axes: tuple[Axis, ...]
    headline: str
    reason: str

    @property
    def code(self) -> str:
        """As written in agreement.csv, e.g. `specification mismatch on {B,T}`."""
        return f"{self.kind} on {{{','.join(self.axes)}}}" if self.axes else self.kind


def verdict(a: Scoring, b: Scoring, facts: ProblemFacts = EVERY_PROBLEM, measured: Measured | None = None) -> Verdict:
    """Compare two scorings: do they answer the same question, and does each answer it exactly?

    facts: of the problem; without them only identities that hold of every problem count. measured: what their scores
    show, where they are at hand.
    """
    found = _verdict(a, b, facts, measured)
    remarks = "".join(f" {remark}" for remark in measured.remarks) if measured else ""
    return replace(found, reason=f"{found.reason}{remarks}")


def _verdict(a: Scoring, b: Scoring, facts: ProblemFacts, measured: Measured | None) -> Verdict:
    known = relation(a, b, facts)
    if known and known.gives is Gives.EQUAL:
        return _same(a, b, known)
    baselines = [scoring for scoring in (a, b) if not scoring.route.implies]
    if baselines:
        return _unasked(baselines)
    axes = a.differing_axes(b)
    approximate = [scoring for scoring in (a, b) if not scoring.exact]
    asked = _asked(a, b, facts)
    if asked and asked.gives is Gives.EQUAL:
        return _approximate(a, b, approximate, asked.reasons, _tail(known, measured))
    if not approximate and axes == ("T",) and other_runs(a.process, b.process):
        return _another_run(a, b)
    if not approximate:
        return Verdict(MISMATCH, axes, f"Different question: {_named(axes)}{_yet(known, measured)}",
                       _mismatch(a, b, axes, known, measured))
    return Verdict(BOTH, axes, f"Both: {_named(axes)}, and {_count(approximate)} approximate{_yet(known, measured)}",
                   _both(a, b, axes, approximate, known, asked, measured))


def _asked(a: Scoring, b: Scoring, facts: ProblemFacts) -> Relation | None:
    """What the exact answers to the two questions have in common. Of departures no identity knows anything."""
    if a.departures or b.departures:
        return Relation(Gives.EQUAL) if not a.differing_axes(b) else None
    return relation(_exact(a), _exact(b), facts)


def _exact(scoring: Scoring) -> Scoring:
    """The exact answer to the same question."""
    return Scoring(behavior=scoring.behavior, intervention=scoring.intervention, process=scoring.process)


def _same(a: Scoring, b: Scoring, known: Relation) -> Verdict:
    if a == b:
        return Verdict(SAME, (), "Same question, same answer",
                       "Both are the same specification, scored the same way.")
    changes = _changes(a, b, a.differing_axes(b))
    written = f"They are written differently ({changes}), and their" if changes else "Their"
    return Verdict(SAME, (), "Same question, same answer", f"{written} scores are equal: {_because(known)}.")


def _another_run(a: Scoring, b: Scoring) -> Verdict:
    """Of two exact answers that nothing but their runs tells apart."""
    if run_and_mean(a.process, b.process):
        return _run_and_mean(a, b)
    if not a.process.one_model:
        return Verdict(ANOTHER_RUN, (), "Same question about other runs",
                       "Both are computed exactly, and are means over different training runs "
                       f"({_changes(a, b, ('T',))}). They estimate one expectation: what parts the two is how far so "
                       "many runs leave it open.")
    return Verdict(ANOTHER_RUN, (), "Same question about another run",
                   f"Both are computed exactly and differ in the seed alone ({_changes(a, b, ('T',))}). A seed is a "
                   "part of the training process: what parts the two is how much single runs vary, which the mean over "
                   "many seeds would not have.")


def _run_and_mean(a: Scoring, b: Scoring) -> Verdict:
    """A single run and the mean over runs are two estimands."""
    return Verdict(MISMATCH, ("T",), "Different question: one run · mean of runs",
                   "Both are computed exactly, and the training process differs: one is the answer of a single "
                   f"training run, the other the mean over several ({_changes(a, b, ('T',))}). A single run holds what "
                   "its own seed does; the mean holds the less of it, the more runs it is taken over.")


def _unasked(baselines: Sequence[Scoring]) -> Verdict:
    """Of baselines there is nothing to derive."""
    which = _titles(baselines)
    verb = "implies" if len(baselines) == 1 else "imply"
    notes = " ".join(dict.fromkeys(scoring.route.note for scoring in baselines))
    return Verdict(NO_SPECIFICATION, (), f"No question to compare: {which} {verb} no specification",
                   f"{_opened(which)} {verb} no specification, so that what parts the two rankings is neither an "
                   f"approximation error nor a mismatch of specifications. {notes}")


def _approximate(a: Scoring, b: Scoring, approximate: Sequence[Scoring], reasons: Sequence[str], tail: str) -> Verdict:
    one = f"{_sentence(reasons)} " if reasons else ""
    if len(approximate) == 1:
        text = f"{_approximating(approximate)}, and the other answer is exact: all their difference is its error."
    else:
        text = _approximation(approximate)
    changes = _changes(a, b, a.differing_axes(b))
    read = f"The two are one question, written differently ({changes}). " if changes else ""
    return Verdict(APPROXIMATION, (), _approximate_headline(approximate), f"{read}{one}{text}{tail}")


def _mismatch(a: Scoring, b: Scoring, axes: Sequence[Axis], known: Relation | None, measured: Measured | None) -> str:
    changes = _changes(a, b, axes)
    if known:
        return f"The questions differ ({changes}).{_tail(known, None)}"
    if measured is None:
        return f"They may differ even if both were computed exactly ({changes})."
    if measured.equal or measured.alike:
        return f"The questions differ ({changes}).{_tail(None, measured)}"
    return f"They differ although both are computed exactly ({changes})."


def _both(a: Scoring, b: Scoring, axes: Sequence[Axis], approximate: Sequence[Scoring], known: Relation | None,
          asked: Relation | None, measured: Measured | None) -> str:
    """known: of the scores themselves; asked: of the exact answers to the two questions."""
    changes = _changes(a, b, axes)
    if known is None and asked is None:
        first = f"They may differ even if both were computed exactly ({changes})."
    else:
        first = f"The questions differ ({changes}).{_tail(known or asked, None, '' if known else 'Computed exactly, ')}"
    own = "".join(f" {_opened(_titles([scoring]))} answers for {departure.answers_for}."
                  for scoring, other in ((a, b), (b, a)) for departure in scoring.departures
                  if departure not in other.departures)
    return f"{first}{own} {_approximation(approximate)}{_tail(None, None if known else measured)}"


def _tail(known: Relation | None, measured: Measured | None, where: str = "") -> str:
    """A sentence on what the scores have in common although they may differ; empty where there is none."""
    if known:
        told = {Gives.PROPORTIONAL: "their scores are proportional for every query",
                Gives.SHIFTED: "their scores are the same up to a constant a query",
                Gives.RANKING: "they rank training examples the same"}[known.gives]
        text = f"{where}{told}" if where else f"{told[0].upper()}{told[1:]}"
        return f" {text}: {_because(known)}."
    if measured and (measured.equal or measured.alike):
        return f" They {'are equal' if measured.equal else 'rank alike'} here, reason unknown."
    return ""


def _yet(known: Relation | None, measured: Measured | None) -> str:
    if known:
        return "; same ranking"
    if measured and measured.equal:
        return "; equal here, reason unknown"
    return "; same ranking here, reason unknown" if measured and measured.alike else ""


def _because(known: Relation) -> str:
    return "; ".join(known.reasons)


def _sentence(reasons: Sequence[str]) -> str:
    text = "; ".join(reasons)
    return f"{text[0].upper()}{text[1:]}."


def _changes(a: Scoring, b: Scoring, axes: Sequence[Axis]) -> str:
    return "; ".join(f"{AXIS_NAMES[axis]}: {a.axis(axis)} against {b.axis(axis)}" for axis in axes)


def _named(axes: Sequence[Axis]) -> str:
    names = [AXIS_NAMES[axis] for axis in axes]
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"the {listed} {'differs' if len(names) == 1 else 'differ'}"


def _count(approximate: Sequence[Scoring]) -> str:
    return "one answer is" if len(approximate) == 1 else "both answers are"


def _approximate_headline(approximate: Sequence[Scoring]) -> str:
    return f"Same question, {_count(approximate)} approximate"


def _approximation(approximate: Sequence[Scoring]) -> str:
    """Who approximates what, and with which exact scores that can be measured."""
    plain = [scoring for scoring in approximate if not scoring.departures]
    departed = [scoring for scoring in approximate if scoring.departures]
    said = []
    if plain:
        said.append(f"{_approximating(plain)}; compare with `exact` under the same specification to see by how much.")
    if departed:
        verb = "approximates its" if len({scoring.estimator for scoring in departed}) == 1 else "approximate their"
        said.append(f"{_opened(_titles(departed))} {verb} own estimand, which has no exact route here.")
    return " ".join(said)


def _approximating(approximate: Sequence[Scoring]) -> str:
    verb = "approximates" if len({scoring.estimator for scoring in approximate}) == 1 else "approximate"
    return f"{_opened(_titles(approximate))} {verb} the estimand"


def _titles(scorings: Sequence[Scoring]) -> str:
    return " and ".join(dict.fromkeys(scoring.route.title for scoring in scorings))


def _opened(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
