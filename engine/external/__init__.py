"""Scores of other programs: their files, what they claim, and what is stored of them."""
