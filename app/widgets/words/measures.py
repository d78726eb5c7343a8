"""Measures of detection, removal and agreement, each in a sentence."""

from __future__ import annotations

from engine.metrics.agreement import METRICS

DEFINITIONS = {
    "AUPRC": "Area under the precision–recall curve: 1 is perfect; a random order gives the prevalence of positives.",
    "AUROC": "The probability that a positive ranks above a negative: 1 is perfect; a random order gives 0.5.",
    "BT-FPR": "The fraction of benign-trigger records among the top 10%: lower is better.",
    "Poison recall": "The fraction of all poisoned records that was removed.",
    "BT frac.": "The fraction of removed records with the trigger in a harmless context only.",
    "Clean frac.": "The fraction of removed records without a trigger.",
    "ASR": "Attack success rate: the fraction of triggered prompts with the attacker's answer.",
    "Attack reduction": "The drop in attack success rate after removing the records and retraining.",
    "Accuracy drop": "The loss of accuracy on clean prompts.",
    **{metric.title: metric.definition for metric in METRICS.values()},
}


def definition(measure: str) -> str:
    """One sentence on a measure; empty where its name says it."""
    if measure.startswith("P@"):
        return f"Precision: the fraction of the top {measure.removeprefix('P@')} that is positive."
    return DEFINITIONS.get(measure, "")
