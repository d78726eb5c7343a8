"""`reoptimize`: from θ_D to the optimum of the intervened objective, in closed forms or of a network."""

from __future__ import annotations

from engine.exact.network_optima import network_optima
from engine.exact.optima import hold_inverse, optima
from engine.problems import by_form

reoptimize = by_form(optima, network_optima)
"""One response an intervention, for training examples `candidates` (b,)."""
prepare = by_form(hold_inverse, lambda problem: None)
"""Compute, and keep on the problem, what the first re-optimisation would otherwise wait for: of a network nothing."""
