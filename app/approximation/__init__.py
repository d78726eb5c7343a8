"""The page *Approximation error*."""
