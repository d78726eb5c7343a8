"""What stands around every page: who may see it, its look, its top, and what the server does beside it."""
