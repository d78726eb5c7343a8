"""The desk that is asked, and how a page waits for it."""
