"""The page *Examples*."""
