"""Whether a model that hardly beats chance on the verified examples is at fault, or these are."""

from __future__ import annotations

import numpy as np

from engine.applications.noisy_labels.held_out import HeldOut
from engine.applications.noisy_labels.judge import REMEDY, Judge


def fault(judge: Judge, held_out: HeldOut) -> str:
    """Which of the two is at fault, as measured by models of the same kind on searched labels that they have not seen.

    Empty where `judge` is not weak, or was measured on labels in doubt itself.
    """
    if not judge.is_weak or not judge.verified:
        return ""
    n = len(held_out.labels)
    same = Judge(held_out.agreement, n, float(np.bincount(held_out.labels).max() / n), verified=False)
    said = (f"Models of the same kind agree with {same.accuracy:.1%} of the {same.examples:,} searched labels, each "
            "held out in turn")
    if same.is_weak:
        return (f"{said}, so the model is at fault, not the verified examples. {REMEDY}")
    return (f"{said}, so the verified examples differ from the others: they are harder, or were labelled by a "
            "different rule. Verify a random sample instead.")
