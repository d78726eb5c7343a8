"""What several pages show alike: pickers, chips, cards, words, downloads."""
