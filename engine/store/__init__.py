"""Sealed results on disk, the store that keeps them, and saved comparisons."""
