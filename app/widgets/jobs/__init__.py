"""The desk, and how a page waits for it."""
