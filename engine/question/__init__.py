"""Which influence is meant: behavior, intervention and process, and the specification they make. Pure values."""
