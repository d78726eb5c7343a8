"""The public names as a guide: every one has a section, in which no word of its docstring is lost."""

import inspect
import re

import pytest

import whichfluence as wf
from app.guide import data
from app.guide.data import Code, Text
from app.guide.reference import heading, markdown

GUIDE = data.read("api")
NAMES = sorted(set(wf.__all__) - {"__version__"})


def test_every_public_name_has_a_section():
    assert sorted(section.heading.removeprefix("class ") for section in GUIDE.sections[1:]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_section_says_what_the_docstring_says(name):
    public = getattr(wf, name)
    section = next(one for one in GUIDE.sections if one.heading == heading(name, public))
    shown = " ".join(block.code if isinstance(block, Code) else block.markdown for block in section.blocks)
    words = [set(re.sub(r"[`,:*]", " ", text).split()) for text in (inspect.getdoc(public), shown)]
    assert words[0] <= words[1]
    assert section.blocks[0].code.startswith(f"wf.{name}") and "Annotated" not in shown and " object at " not in shown


def test_sections_of_a_docstring_are_lists_and_examples_are_code():
    doc = """Does it.

Args:
    a, b: numbers
        in metres: both.
    c: another.

Returns:
    A number (n,).

>>> 1 + 1
2"""
    first, example = data.split("made", f"# Made\n\n{markdown(doc)}").sections[0].blocks
    assert first == Text("Does it.\n\n**Args**\n\n- `a`, `b`: numbers\n  in metres: both.\n- `c`: another.\n\n"
                         "**Returns**\n\nA number (n,).")
    assert example == Code("python", ">>> 1 + 1\n2")
