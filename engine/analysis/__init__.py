"""What is made of scores: comparisons, explanations, error curves, self-influence and datamodels."""
