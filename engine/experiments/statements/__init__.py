"""What the paper concludes, as statements checked on published rows. A new one is a value in a file of its group."""

from __future__ import annotations

from engine.basics.registry import Registry
from engine.experiments.statements import controlled, language, noisy_labels
from engine.experiments.statements.statement import Statement

STATEMENTS: Registry[Statement] = Registry("statement", (
    *controlled.STATEMENTS, *noisy_labels.STATEMENTS, *language.STATEMENTS))

__all__ = ["STATEMENTS", "Statement"]
