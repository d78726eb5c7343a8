"""The page *Language models*."""
