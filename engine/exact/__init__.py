"""Exact counterfactuals: finite steps in closed form, linear responses by Cholesky, optima by Newton."""
