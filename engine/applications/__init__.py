"""What the rooms below are used for: wrong labels, language tasks, lessons."""
