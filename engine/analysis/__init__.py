"""What is made of scores: comparisons, explanations, error curves, self-influence, datamodels and maps."""
