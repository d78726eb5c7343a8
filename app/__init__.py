"""The front end: shared parts of the dashboard. Pages arrange them; the engine computes."""
