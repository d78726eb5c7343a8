"""What taught a model a wrong prediction: a ranking of all training examples, what the first of them share, and the
model that is trained without them."""
