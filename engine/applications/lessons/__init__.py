"""Small experiments for teaching: each is one thing that can be seen, computed live."""
