"""The page *Noisy labels*."""
