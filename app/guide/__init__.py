"""The guides of `assets/guides`, to read and to search in the dashboard."""
