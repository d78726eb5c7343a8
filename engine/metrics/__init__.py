"""How two rankings agree, and how well a ranking finds what it should."""
