"""Finding noisy labels: what is scored, how, what removing does, and what people decided about it."""
