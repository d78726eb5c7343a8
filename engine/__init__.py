"""Whichfluence: exact and approximate data influence under an explicit specification (B, P, T)."""

__version__ = "0.1.0"
