"""The page *Runs*."""
