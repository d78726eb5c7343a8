"""Departures: where the question that an estimator answers is another one than the specification says.

A cosine is no bad answer to the question of a plain step. It answers another question, which no plain specification
names: the specification with its departure. Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Departure:
    """axis: on which. title: beside the axis's own. clause: after the axis's clause in the question. answers_for: what
    the estimator answers for, to end a sentence with."""

    axis: Literal["B", "P", "T"]
    title: str
    clause: str
    answers_for: str


NORMALISED = Departure("T", "normalised", "its update scaled to unit norm", "updates normalised to unit norm")
ADAM = Departure("T", "Adam's updates", "in Adam's updates instead of plain steps",
                 "updates that Adam makes from the moments of the training")
ADAM_SCALES = Departure("T", "over Adam's second moment",
                        "each parameter's update divided by the root of its gradients' second moment",
                        "updates that Adam's second moment scales")
ADAFACTOR_SCALES = Departure("T", "over Adafactor's second moment",
                             "each weight's update divided by the root of the second moment of its row and column",
                             "updates that Adafactor's second moment scales")
SECOND_MOMENTS = Departure("T", "second moments", "in a step divided by Adam's second moments instead of a plain one",
                           "a step divided by Adam's second moments at the end of the training, without the first "
                           "moment")
LAST_LAYER = Departure("T", "last layer alone", "in the last layer alone",
                       "a step that moves the last layer alone, with every layer before it frozen")
ALL_PARAMETERS = Departure("T", "all parameters", "in all selected parameters instead of the readout alone",
                           "a step in all selected parameters, where the plain auxiliary step moves the readout alone")
STEPWISE = Departure("T", "every step by itself", "the effects of the steps at their own moments, added up",
                     "the immediate effect of every step of the training, without its effect on later steps")
