"""Counterfactuals computed, one process a file; each kind of problem has its route, chosen by its type.

Importing the room registers the routes of `reoptimize` and `retrain`.
"""

from engine.exact import local_search, optima

__all__ = ["local_search", "optima"]
