"""Each sentence about a number with a sign is read with a number whose truth is known from the probabilities."""

import inspect
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.question import direction
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.interventions import INTERVENTIONS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests import referee
from tests.engine import problems_for_tests as naive

TEMPLATES = {name: function for name, function in inspect.getmembers(direction, inspect.isfunction)
             if function.__module__ == direction.__name__ and not name.startswith("_")}
STEP = {"kind": "one_step", "eta": 0.5}
QUESTIONS = {"step": ({"kind": "add_occurrence"}, STEP), "removal": ({"kind": "remove"}, {"kind": "reoptimize"}),
             "weight": ({"kind": "upweight", "alpha": 0.05}, {"kind": "reoptimize"}),
             "rate": ({"kind": "infinitesimal"}, {"kind": "local_response"})}
QUERY = 2


@dataclass(frozen=True)
class Known:
    """B of one query before and after more of one training example, read off probabilities that no engine code has
    computed; with the engine's oriented score of the same."""

    scoring: Scoring
    before: float
    after: float
    score: float
    row: int

    @property
    def behavior(self) -> Behavior:
        return self.scoring.readout

    @property
    def change(self) -> float:
        return self.after - self.before


def losses(problem, weights) -> float:
    return float(cross_entropy(problem.queries[QUERY:QUERY + 1] @ weights, problem.query_labels[QUERY:QUERY + 1]))


def value(name: str, problem, weights) -> float:
    """B by hand, from the probabilities of the query."""
    logits = problem.queries[QUERY] @ weights
    label, p = int(problem.query_labels[QUERY]), (problem.queries[QUERY] @ weights).softmax(-1)
    others = torch.cat([logits[:label], logits[label + 1:]])
    return float({"query_loss": p[label].log(), "probability": p[label], "query_logit": logits[label],
                  "soft_margin": (p[label] / (1 - p[label])).log(), "hard_margin": logits[label] - others.max(),
                  "correct": float(p.argmax() == label)}[name])


@pytest.fixture(scope="module")
def problem():
    return naive.problem(n=24, d=3, queries=4, seed=3, l2=0.05)


@pytest.fixture(scope="module")
def ends(problem):
    """Question -> row -> (weights with less of the row, weights with more of it)."""
    optimum = naive.optimum(problem)
    found = {name: {} for name in QUESTIONS}
    for row in range(problem.n):
        leaf = problem.weights.clone().requires_grad_(True)
        loss = cross_entropy(problem.x[row:row + 1] @ leaf, problem.y[row:row + 1])
        found["step"][row] = problem.weights, problem.weights - STEP["eta"] * torch.autograd.grad(loss, leaf)[0]
    for row in range(16):
        without = naive.optimum(problem, INTERVENTIONS["remove"](), row)
        found["removal"][row] = without, optimum
        for name, alpha in (("weight", 0.05), ("rate", 1e-5)):
            found[name][row] = optimum, naive.optimum(problem, INTERVENTIONS["upweight"](alpha=alpha), row)
    return found


def known(problem, ends, question, behavior, row) -> Known:
    less, more = ends[question][row]
    scoring = Scoring.of(behavior, *QUESTIONS[question])
    scores = compute(problem.with_candidates([row]), [scoring])[0]
    return Known(scoring, value(behavior, problem, less), value(behavior, problem, more),
                 float(scores.oriented[QUERY, 0]), row)


@pytest.fixture(scope="module", params=[(question, behavior) for question in QUESTIONS for behavior in (
    "query_loss", "query_logit", "soft_margin", "hard_margin", "probability")], ids="-".join)
def pair(request, problem, ends):
    """Of one question the example that raises the behavior most, and the one that lowers it most."""
    question, behavior = request.param
    all_of_them = [known(problem, ends, question, behavior, row) for row in ends[question]]
    return max(all_of_them, key=lambda one: one.change), min(all_of_them, key=lambda one: one.change)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"[+-]?\d+\.?\d*(?:e[+-]?\d+)?", referee.plain(text))]


def told(number: float) -> str:
    return f"**{number:+.6g}**"


def right(text: str, one: Known, change: float | None = None) -> None:
    """The text names what rises, by its name with its direction where it names it at all, and nothing is struck."""
    assert referee.struck(text, one.behavior, one.change if change is None else change) == [], text


# One case a template: it is rendered for an example of known effect, and read.

def of_change(one):
    text = direction.change(one.behavior)
    assert one.behavior.value_title in text
    right(text, one)


def of_rate(one):
    for text in (direction.rate(one.behavior), direction.mean_rate(one.behavior)):
        assert referee.plain(one.behavior.value_title) in text and "rate of the" in text
        right(text, one)


def of_changed(one):
    for before in (None, one.before):
        text = direction.changed(one.behavior, one.change, told(one.change), before)
        assert numbers(text)[0] == pytest.approx(one.after - one.before, rel=1e-4)
        if one.behavior.minus and before is not None:
            assert numbers(text)[1:] == pytest.approx([-one.before, -one.after], rel=1e-3)  # cross-entropies
        right(text, one)
    assert "loss falls" not in direction.changed(one.behavior, 0.0, "0") and "loss rises" not in direction.changed(
        one.behavior, 0.0, "0")


def of_scored(one):
    text = direction.scored(one.scoring)
    assert ("with the sign flipped" in text) == (one.scoring.intervention.kind == "remove")
    assert np.sign(one.score) == np.sign(one.change), "oriented: positive supports"
    right(text, one)


def of_scores(one):
    text = direction.scores(one.scoring, "−1", "+2")
    assert text.startswith(direction.scored(one.scoring)) and text.endswith("from −1 to +2")
    right(text, one)


def of_scores_are(one):
    assert direction.exported(one.scoring) == f"{direction.scored(one.scoring)}; positive supports"
    for text in (direction.scores_are(one.scoring), direction.oriented(one.scoring)):
        assert "where it is positive, an example supports the behavior: it" in text
        right(text, one, change=one.score * np.sign(one.score))  # it speaks of positive ones


def of_raises(one):
    text = direction.raises(one.behavior, one.score)
    assert text.startswith("raises" if one.after > one.before else "lowers")
    right(text, one)
    assert direction.raises(one.behavior, 0.0).startswith("neither")


def of_raise_most(one):
    text = direction.raise_most(one.behavior)
    right(text, one, abs(one.change))


def of_ends(one):
    """The example stands at the end where its effect puts it; what stands there for want of others is named, too."""
    first, _, second = (direction.top if one.score > 0 else direction.bottom)([one.scoring], 3).partition(", or ")
    assert one.behavior.value_title in first and second in ("lower it least", "raise it least")
    right(first, one)
    right(second.replace("it", f"the {one.behavior.quantity or one.behavior.title}"), one, -one.change)
    both = [one.scoring, Scoring.of("correct", {"kind": "add_occurrence"}, STEP)]
    assert "each column's behavior" in direction.top(both, 3) and direction.top([], 3) == "Top 3"
    assert "each column's behavior" in direction.bottom(both, 3) and direction.bottom([], 3) == "Bottom 3"


def of_group(one):
    for text in (direction.group(one.behavior), direction.raw_change(one.behavior)):
        assert "above zero it rises" in text and one.behavior.value_title in text
        right(text, one, abs(one.change))


def of_group_spread(one):
    text = direction.group_spread(one.behavior, 4, "0.1", QUERY, one.change, told(one.change))
    right(text, one)
    assert numbers(text)[-1] == pytest.approx(one.change, rel=1e-4)


def of_removal(one):
    """Without what supports a behavior its value ends below where it was."""
    below, above = direction.removal(one.behavior).split(" Above zero, ")
    assert below.startswith(f"Below zero: without them the {one.behavior.value_title} is lower, so together they supp")
    assert above == "they opposed the behavior."
    side = below.replace("is lower", "") if one.change > 0 else above
    assert referee.struck(side, one.behavior, one.change) == []  # one.change: with the example less without it


def of_area(one):
    text = direction.area(one.behavior, told(one.change), told(one.change))
    assert numbers(text) == pytest.approx([one.change] * 2, rel=1e-4)
    right(text, one)


def of_along_path(one):
    text = direction.along_path(one.behavior, QUERY, one.row, told(one.change), told(one.change), "0.1")
    right(text, one, abs(one.change))


def of_moments(one):
    text = direction.moments(one.behavior)
    assert text.startswith("Above zero") and "the example supports" in text
    right(text, one, abs(one.change))


def of_colours(one):
    teal, brown = direction.colours(one.scoring, "Teal", "Brown", QUERY).split(". Brown ")
    right(teal if one.score > 0 else brown, one)


def of_signal(one):
    text = direction.signal(one.behavior)
    assert f"{one.behavior.value_title} at the query rises" in text
    right(text, one, 1.0)


def of_ranked(one):
    right(direction.ranked(one.behavior, opposing=one.score < 0), one)
    assert "largest" in direction.ranked(None, False) and "smallest" in direction.ranked(None, True)
    assert not re.search(r"\b(supports|opposes)\b", direction.ranked(None, False))


def of_larger(one):
    right(direction.larger(one.behavior), one, abs(one.change))
    assert "does not say" in direction.larger(None)


def of_raw(one):
    """What the estimand has: the effect of what is done, which for a removal is the other way round."""
    text = direction.raw(one.scoring)
    raw = one.score * one.scoring.orientation
    assert ("negative where the example supports" in text) == (one.change * raw < 0)
    assert referee.struck(text.replace("; negative where the example supports the behavior", ""), one.behavior, 1) == []


def of_share(one):
    right(direction.contribution(one.behavior), one, abs(one.change))


def of_itself(one):
    right(direction.itself(one.scoring), one, abs(one.change))


def of_suspicion(one):
    """Suspicion is minus the score: the larger, the more the example works against the behavior."""
    right(direction.suspicion(one.behavior), one, -abs(one.change))
    right(direction.suspicions([one.behavior, BEHAVIORS["correct"]]), one, -abs(one.change))
    assert direction.suspicion(None) == "suspicion: larger is more suspicious"


def of_named(one):
    assert direction.named({"a": "x", "b": "y"}) == "a: x | b: y"


CASES = {"change": of_change, "rate": of_rate, "mean_rate": of_rate, "changed": of_changed, "scored": of_scored,
         "scores": of_scores, "scores_are": of_scores_are, "oriented": of_scores_are,
         "exported": of_scores_are, "suspicions": of_suspicion, "raises": of_raises,
         "raise_most": of_raise_most, "top": of_ends, "bottom": of_ends, "group": of_group, "raw_change": of_group,
         "group_spread": of_group_spread, "removal": of_removal, "area": of_area, "along_path": of_along_path,
         "moments": of_moments, "colours": of_colours, "signal": of_signal, "ranked": of_ranked, "larger": of_larger,
         "raw": of_raw, "contribution": of_share, "itself": of_itself, "suspicion": of_suspicion, "named": of_named}


def test_every_template_has_a_case():
    assert set(CASES) == set(TEMPLATES)


def test_each_template_is_true_of_examples_of_known_effect(pair):
    for case in dict.fromkeys(CASES.values()):
        for one in pair:
            case(one)


def test_the_examples_differ_in_what_they_do(pair):
    most, least = pair
    assert most.change > 0 > least.change


def test_the_step_of_the_issue(problem):
    """A step that lowers the cross-entropy: the log-likelihood rises, and the sentence gives both ends of the loss."""
    leaf = problem.weights.clone().requires_grad_(True)
    loss = cross_entropy(problem.queries[QUERY:QUERY + 1] @ leaf, problem.query_labels[QUERY:QUERY + 1])
    after = problem.weights - torch.autograd.grad(loss, leaf)[0]  # along the query itself, which must lower its loss
    first, last = losses(problem, problem.weights), losses(problem, after)
    assert last < first
    text = direction.changed(BEHAVIORS["query_loss"], first - last, f"{first - last:+.4f}", -first)
    assert text == (f"changes the log-likelihood (minus the query loss) by {first - last:+.4f}, so the query loss "
                    f"falls from {first:.4g} to {last:.4g}")


def test_a_relabelled_example_is_the_one_that_a_positive_score_speaks_of():
    asked = Scoring.of("query_loss", {"kind": "relabel", "label": 2}, {"kind": "reoptimize"})
    who = "an example with the label 2 in place of its own" if asked.orientation > 0 else "an example"
    assert f"where it is positive, {who} supports the behavior" in direction.scores_are(asked)
    assert direction.scored(asked).endswith(f"by {who}") == (asked.orientation > 0)


@pytest.mark.parametrize("name", [*reading("classes"), *reading("tokens")])
def test_what_is_named_after_a_loss_tells_its_value_and_its_direction(name):
    behavior = BEHAVIORS[name]
    loss = referee.LOSS.search(behavior.title)
    assert bool(loss) == bool(behavior.minus) and (not loss or behavior.minus == loss.group())
    if loss:
        assert "log-likelihood" in behavior.quantity and behavior.unit == "nats"
        assert behavior.value_title == f"{behavior.quantity} (minus the {behavior.minus})"
        assert behavior.direction == (f"Larger is better: the {behavior.minus} falls where the {behavior.quantity} "
                                      "rises.")
    else:
        assert not referee.LOSS.search(behavior.value_title)


@pytest.mark.parametrize("name", reading("tokens"))
def test_templates_of_language_behaviors_speak_of_minus_the_mean_token_loss(name):
    """Outputs are mean log-probabilities: −2 before and −0.5 after is a loss that falls from 2 to 0.5."""
    behavior = BEHAVIORS[name]
    before, after = torch.full((1, 5), -2.0), torch.full((1, 5), -0.5)
    change = float(behavior.changed(after - before, before, torch.zeros(1, dtype=torch.long)))
    assert change == 1.5
    text = direction.changed(behavior, change, "+1.5", -2.0)
    assert referee.struck(text, behavior, change) == []
    assert ("falls from 2 to 0.5" in text) == bool(behavior.minus)


def test_spans_and_contrasts_keep_their_words():
    span, contrast = BEHAVIORS["span:no lungs"], BEHAVIORS["contrast"]
    assert direction.change(span) == "change of the log-likelihood of “no lungs” per token in nats"
    assert direction.change(contrast) == "change of the contrast to the first other choice in nats"


@pytest.mark.parametrize("text", [
    "changes the query loss by +1.869", "raises the query loss", "the query loss is log p",
    "change of the query loss: +0.3", "the log-likelihood falls", "lowers the log-likelihood", "opposes the behavior",
    "raises the log-likelihood, and so raises the query loss"])
def test_the_referee_strikes_what_is_untrue(text):
    assert referee.struck(text, BEHAVIORS["query_loss"], 1.869)


def test_the_value_of_the_probability_of_one_half():
    assert math.isclose(float(BEHAVIORS["query_loss"].value(torch.zeros(1, 2), torch.tensor([0]))), math.log(0.5),
                        rel_tol=1e-6)
