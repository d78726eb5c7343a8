"""What the reader chooses, in inputs and in the address."""
