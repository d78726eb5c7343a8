"""Guides as values: how a file falls into sections, what a search finds, where links lead."""

import json

import pytest

from app.guide import data
from app.guide.data import Code, Picture, Text

MADE = """# A guide

Opening words, with `code`.

<!-- not run: needs a dragon -->
```bash
# no heading
make gold
```

![A heap of gold](../pictures/gold.png)

## Where's the *cave*?

| what | where |
|---|---|
| gold | cave |

## Another

Nothing **but** a [link](python.md#your-own-behavior).
"""


@pytest.fixture
def guide():
    return data.split("made", MADE)


def test_a_guide_falls_into_its_sections(guide):
    assert guide.title == "A guide"
    assert [(one.heading, one.slug) for one in guide.sections] == [
        ("A guide", ""), ("Where's the *cave*?", "wheres-the-cave"), ("Another", "another")]
    assert guide.sections[0].blocks == (
        Text("Opening words, with `code`."), Code("bash", "# no heading\nmake gold"),
        Picture("../pictures/gold.png", "A heap of gold"))


def test_no_line_is_lost_but_comments(guide):
    kept = " ".join(part.words for part in guide.sections)
    for word in ("Opening", "make gold", "what", "cave", "Nothing but a link"):
        assert word in " ".join(kept.split())
    assert "dragon" not in kept and "---" not in kept and "python.md" not in kept


@pytest.mark.parametrize("text", ["", "words only", "words\n# title", "## section\n# title", "# one\n# two"])
def test_a_guide_without_one_title_at_its_head_is_refused(text):
    with pytest.raises(ValueError):
        data.split("made", text)


@pytest.mark.parametrize(("written", "shown"), [
    ("[x](python.md)", "[x](guide?guide=python)"),
    ("[x](python.md#a-b)", "[x](guide?guide=python&heading=a-b)"),
    ("[x](https://captum.ai)", "[x](https://captum.ai)"),
    ("[x](../../Makefile)", "x (`../../Makefile`)"),
    ("[x](javascript:alert)", "x (`javascript:alert`)"),
    ("`[x](python.md)`", "`[x](python.md)`"),
])
def test_links_lead_to_the_page_or_outside(written, shown):
    assert data.linked(written) == shown


@pytest.mark.parametrize("name", data.GUIDES)
def test_every_guide_is_whole(name):
    found = data.read(name)
    slugs = [section.slug for section in found.sections]
    assert len(set(slugs)) == len(slugs) and "all" not in slugs
    text = " ".join(section.words for section in found.sections)
    pictures = [block for section in found.sections for block in section.blocks if isinstance(block, Picture)]
    assert all((data.FOLDER / picture.file).is_file() for picture in pictures) and "### " not in text


def test_a_notebook_is_read_as_its_cells_without_what_they_gave(tmp_path):
    cells = [{"cell_type": "markdown", "source": ["# Title\n", "\n", "words"]},
             {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"text": "2"}]}]
    (tmp_path / "made.ipynb").write_text(json.dumps({"cells": cells}))
    assert data.split("made", data.written(tmp_path / "made.ipynb")).sections[0].blocks == (
        Text("words"), Code("python", "1 + 1"))
