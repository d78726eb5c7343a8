"""Names of the literature: an estimator together with the specification that the name implies (paper, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES, GRADIENTS, TRAJECTORY = "Feature similarity", "Gradient similarity", "Trajectory-based"
INFLUENCE, TRAINING_RUN, LEFT_OUT, BASELINES = "Influence functions", "Training run", "Leave-one-out", "Baselines"
CODE = "The authors' code"
ROWS = (FEATURES, GRADIENTS, TRAJECTORY, INFLUENCE, TRAINING_RUN, LEFT_OUT, CODE, BASELINES)
"""The families of the paper's Table 1, a training run's derivatives, what the code of the paper's authors computes
under a name of the table where it is another method, and what implies no specification."""

RENAMED = {"Gradient length": "Gradient norm"}
"""The title of a method in results of earlier versions -> its title."""


@dataclass(frozen=True)
class Named:
    """What an estimator is known as. intervention, process: the kinds that the name implies; empty of a baseline.

    row: its family in `ROWS`. label: its name in the paper's tables, by default the title. behavior: the one that it
    fixes or is usually asked for. reads: whether it reads a behavior that is asked about; a similarity reads
    representations, and a baseline nothing. note: what it computes, by default what the estimator does. of_own_class:
    whether only queries of a candidate's own class count where several are put together. asks: the question of a
    baseline. undivided: why a score is no sum over the tokens of a record, in a sentence; empty where it is one.
    """

    name: str
    title: str
    row: str
    source: str
    intervention: str = ""
    process: str = ""
    behavior: str = "query_loss"
    label: str = ""
    reads: bool = True
    note: str = ""
    of_own_class: bool = False
    asks: str = ""
    undivided: str = ""


def similarity(name: str, title: str, source: str, label: str = "", note: str = "", undivided: str = "") -> Named:
    """One step on the label-free loss, which reads no behavior."""
    return Named(name, title, FEATURES, source, "auxiliary", "one_step", "query_logit", label, reads=False, note=note,
                 of_own_class=True, undivided=undivided)


def gradient(name: str, title: str, source: str, behavior: str = "query_loss", note: str = "") -> Named:
    """One step on the example itself."""
    return Named(name, title, GRADIENTS, source, "add_occurrence", "one_step", behavior, note=note)


def trajectory(name: str, title: str, source: str, behavior: str = "query_loss", note: str = "") -> Named:
    """A step on the example at every checkpoint."""
    return Named(name, title, TRAJECTORY, source, "add_occurrence", "trajectory", behavior, note=note)


def of_run(name: str, title: str, source: str) -> Named:
    """The derivative of the training run by the example's weight."""
    return Named(name, title, TRAINING_RUN, source, "infinitesimal", "replay")


def baseline(name: str, title: str, source: str = "a baseline", *, label: str = "", asks: str = "",
             undivided: str = "") -> Named:
    """What implies no specification."""
    return Named(name, title, BASELINES, source, behavior="none", label=label, reads=False, asks=asks,
                 undivided=undivided)
