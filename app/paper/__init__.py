"""The page *Paper*."""
