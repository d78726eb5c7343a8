"""The kinds of job that are no study of the paper."""
