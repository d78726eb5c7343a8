"""The glossary: one line a term, and terms are found as whole words, the longest first, each once."""

from engine.question.glossary import TERMS, occurrences


def test_every_term_has_one_line():
    assert all(line.endswith(".") and "\n" not in line and len(line) < 130 for line in TERMS.values())


def test_terms_are_found_once_and_the_longest_first():
    text = "Specifications differ: the Kendall distance of two queries, and the query loss. A query again; scores."
    found = [text[start:end] for start, end, _ in occurrences(text)]
    assert found == ["Specifications", "Kendall distance", "queries", "query loss", "scores"]
    assert occurrences("misbehavior, one-stepped") == []
