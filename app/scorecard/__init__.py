"""The Scorecard page: methods × benchmarks, with the question that each benchmark asks."""
