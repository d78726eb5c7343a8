"""Gradients of a `ModuleProblem`: per example, along directions, and their inner products."""
