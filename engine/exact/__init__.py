"""Counterfactuals computed, one process a file; each kind of problem has its route, chosen by its type.

Importing the room registers the routes of `reoptimize` and `retrain`.
"""

from engine.exact import network_optima, optima

__all__ = ["network_optima", "optima"]
