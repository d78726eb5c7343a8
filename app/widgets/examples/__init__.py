"""Training examples and queries as cards, dots, pictures and texts, and which of them are selected."""
