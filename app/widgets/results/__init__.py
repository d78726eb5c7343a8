"""What goes with a result: downloads, manifest, agreement, and what is published."""
