"""What options of several analyses say, where the command line reads them without importing torch."""

PROTOCOL = ("How models without some examples are trained: weights (the recorded run, weight 0 in place), subset "
            "(ordinary training on the subset alone, same seed) or seeds (the same, a separate seed for each model).")
AMONG = ("Population from which subsets are sampled: candidates (every other training example is in all of them) or "
         "all (any training example may be left out).")
