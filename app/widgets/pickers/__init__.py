"""Where problem, model and specifications are chosen."""
