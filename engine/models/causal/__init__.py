"""Causal language models: by name, with adapters, records as tokens, forward passes, and what is read off them."""
