"""Charts, one a file: a function from a table to an Altair chart. They take their colours from the theme."""
