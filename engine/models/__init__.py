"""What is trained: each model in its own file, with its objective, derivatives and fit."""
