"""A specification with the estimator that answers it: its scores, cost, names and verdicts."""
