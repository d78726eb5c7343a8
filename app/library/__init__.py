"""The page *Library*."""
