"""The page *Poison*."""
