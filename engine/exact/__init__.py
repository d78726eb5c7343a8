"""Counterfactuals computed, one process a file: in closed forms, or by automatic differentiation of a network."""
