"""What options of several analyses say, where the command line reads them without importing torch."""

PROTOCOL = ("How models without some examples are trained: weights (the recorded run, weight 0 in place), subset "
            "(ordinary training on the subset alone, same seed) or seeds (the same, a seed of its own for each model).")
AMONG = ("What subsets are sampled from: candidates (every other training example is in all of them) or all (any "
         "training example may be left out).")
