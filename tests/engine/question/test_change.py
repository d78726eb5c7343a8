"""What an intervention does to the objective, spelt out, and the same as a training sees it."""

import pytest

from engine.basics.errors import InvalidInput
from engine.question.change import Change
from engine.question.interventions import AddOccurrence, Auxiliary, Infinitesimal, Relabel, Remove, Upweight

N = 5
LOSSES = {0: [2.0, 3.0, 5.0, 7.0, 11.0], 1: [13.0, 17.0, 19.0, 23.0, 29.0]}
"""label -> the loss of every example if it carried that label; all carry 0."""
K = 3


def objective(change: Change) -> float:
    own = sum(weight * LOSSES[label][K] for weight, label in change.terms(0))
    return change.scale * sum(LOSSES[0]) / N + own


def trained_on(change: Change) -> float:
    """The mean loss of a training in which z_k counts `weight` times and carries `label`."""
    carried = 0 if change.label is None else change.label
    losses = [LOSSES[carried][K] * change.weight if i == K else LOSSES[0][i] for i in range(N)]
    return sum(losses) / (N - 1 if change.normalization == "n-1" else N)


@pytest.mark.parametrize("intervention, expected", [
    (Remove(), (2 + 3 + 5 + 11) / 4), (Remove(normalization="n"), (2 + 3 + 5 + 11) / 5),
    (Upweight(alpha=0.3), 28 / 5 + 0.3 * 7), (Relabel(label=1), (2 + 3 + 5 + 23 + 11) / 5),
    (Relabel(label=0), 28 / 5)], ids=lambda value: getattr(value, "title", None))
def test_the_objective_is_the_one_that_is_meant(intervention, expected):
    change = intervention.change(N)
    assert objective(change) == pytest.approx(expected, rel=1e-14)
    assert trained_on(change) == pytest.approx(expected, rel=1e-14)
    assert change.mass == pytest.approx(sum(weight for weight, _ in change.terms(0)), abs=1e-16)


def test_a_weight_is_a_multiple_of_the_infinitesimal_one():
    change = Upweight(alpha=0.25).change(N)
    assert change.size == 0.25 and change.unit == Infinitesimal().change(N)
    assert Remove().change(N).unit == Remove().change(N)


@pytest.mark.parametrize("update", [AddOccurrence(), Auxiliary()])
def test_an_update_changes_no_objective(update):
    with pytest.raises(InvalidInput, match=f"`{update.kind}` is an update"):
        update.change(N)
