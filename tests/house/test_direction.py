"""No text that a reader sees gives a loss the sign of its negative: `engine.question.direction` has such sentences.

A behavior named after a loss has minus that loss as its value, so "changes the query loss by +1.9" is false where the
loss falls by 1.9.
"""

import ast
import re
from functools import cache

import pytest

from tests.house.source import ROOT

NAMES = r"(?:query|response|explanation|trusted) loss(?:es)?"
UNTRUE = re.compile("|".join((
    rf"\b(?:rais|increas|improv|support)\w*\W+(?:the |its |their )?\W*{NAMES}",
    rf"\bchang\w*\W+(?:of |in )?(?:the |its )?\W*{NAMES}",
    rf"\b(?:rate|gain|rise|growth) of (?:the )?\W*{NAMES}", rf"d\({NAMES}\)",
    rf"{NAMES}\W* (?:is|=|means) (?:minus )?log\W?p", rf"{NAMES}\W* (?:rises|grows|gains|changes) by",
    rf"{NAMES}\W* by \W*[+−]",
    r"larger (?:query )?loss is better", r"loss(?:es)? (?:is|are) helpful")), re.IGNORECASE)
TITLE = re.compile(r"(?:readout|behavior|read|BEHAVIORS\[[^\]]*\]|READOUTS\[[^\]]*\])\.title\b")
DIRECTED = re.compile(r"\b(?:chang|rais|lower|rises|falls|rate of|support|oppos|help|harm|gain|positive|negative)",
                      re.IGNORECASE)
SOURCES = sorted(path for room in ("app", "pages", "engine") for path in (ROOT / room).rglob("*.py"))
TEXTS = [ROOT / "README.md", *sorted((ROOT / "assets" / "guides").glob("*.md"))]


@cache
def said(path):
    """(line, text) of every text in a module; what an f-string fills in stands in braces."""
    nodes, texts = list(ast.walk(ast.parse(path.read_text()))), []
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            texts.append((node.lineno, "".join(part.value if isinstance(part, ast.Constant) else
                                               f"{{{ast.unparse(part.value)}}}" for part in node.values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            texts.append((node.lineno, node.value))
    return texts


def untrue(text):
    plain = " ".join(text.replace("*", "").replace("`", "").split())
    known = re.sub(rf"lowers the [^,.]+, and so raises the {NAMES}", "opposes it", plain)
    return UNTRUE.search(re.sub(rf"minus (?:the |that )?{NAMES}", "minus it", known))


def borrowed(text):
    """Whether the title of a behavior, which names the question, stands in a sentence with a direction."""
    return TITLE.search(text) and DIRECTED.search(re.sub(r"\{[^{}]*\}", "", text))


def test_no_text_of_the_program_gives_a_loss_the_sign_of_its_negative():
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in SOURCES for line, text in said(path)
             if untrue(text)]
    assert found == []


def test_sentences_with_a_direction_name_the_value_and_not_the_question():
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in SOURCES for line, text in said(path)
             if borrowed(text)]
    assert found == []


def test_no_guide_gives_a_loss_the_sign_of_its_negative():
    found = [f"{path.name}: {match.group()}" for path in TEXTS if (match := untrue(path.read_text()))]
    assert found == []


@pytest.mark.parametrize("text", [
    "changes the query loss by +1.869", "raises the **query loss** of this query most", "the query loss is log p",
    "change of the query loss", "examples raise the query loss", "d(query loss)/dα", "the rate of response loss",
    "The query loss rises by 0.2", "raise the trusted loss"])
def test_the_scan_finds_what_it_is_for(text):
    assert untrue(text)


@pytest.mark.parametrize("text", ["{scoring.readout.title} changes by {x}", "change of {BEHAVIORS[name].title}",
                                  "positive supports {readout.title}"])
def test_the_scan_finds_borrowed_titles(text):
    assert borrowed(text)


@pytest.mark.parametrize("text", ["lowers the query loss", "the first 8 for the query loss", "reads the query loss",
                                  "lowers the log-likelihood, and so raises the query loss",
                                  "change of the log-likelihood (minus the query loss)"])
def test_the_scan_leaves_what_is_true(text):
    assert not untrue(text) and not borrowed(text)
