"""Guide: what is read and what is searched for is in the address, and no HTML of a guide reaches the page."""

import pytest

from app.guide import data
from tests.pages.support import open, says, sound

pytestmark = pytest.mark.core


def headings(at):
    return [at.header[0].value, *(heading.value for heading in at.subheader)]


@pytest.mark.parametrize("name", data.GUIDES)
def test_every_guide_is_shown_whole(name):
    at, guide = sound(open("guide", guide=name)), data.read(name)
    assert headings(at) == [section.heading for section in guide.sections]
    codes = [block.code for section in guide.sections for block in section.blocks if isinstance(block, data.Code)]
    assert [code.value for code in at.code] == codes
    assert not says(at, "not run:")


def test_a_link_opens_one_section():
    at = sound(open("guide", guide="networks", heading="on-the-command-line"))
    assert headings(at) == ["Any differentiable classifier", "On the command line"]
    assert dict(at.query_params) == {"guide": "networks", "heading": "on-the-command-line"}
    sound(next(button for button in at.button if button.label == "Read the whole guide").click().run())
    assert len(at.subheader) > 2 and at.query_params["heading"] == "all"


def test_another_guide_opens_at_its_beginning():
    at = sound(open("guide", guide="networks", heading="on-the-command-line"))
    sound(at.selectbox(key="choice:guide").set_value("python").run())
    assert headings(at)[0] == "Python" and len(at.subheader) > 2 and not at.warning
    assert dict(at.query_params) == {"guide": "python", "heading": "all"}


def test_a_search_lists_sections_and_opens_them():
    at = sound(open("guide"))
    sound(at.text_input(key="choice:find").set_value("wrong_labels").run())
    assert at.query_params["find"] == "wrong_labels" and not at.header
    found = [button for button in at.button if button.label == "Finding noisy labels: **Your own data**"]
    sound(found[0].click().run())
    assert headings(at) == ["Finding noisy labels", "Your own data"]
    assert dict(at.query_params) == {"guide": "noisy-labels", "heading": "your-own-data"}


def test_a_search_in_the_address_is_done():
    at = sound(open("guide", find="zzz*zzz"))
    assert "zzz" in at.info[0].value and "No section" in at.info[0].value


def test_nonsense_in_the_address_is_said_and_ignored():
    at = sound(open("guide", guide="python", heading="nowhere"))
    assert "which was ignored" in at.warning[0].value and headings(at)[0] == "Python"


def test_html_in_a_guide_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    for name in data.GUIDES:
        (tmp_path / f"{name}.md").write_text("# <b>Title</b>\n\n<script>alert(1)</script> words\n\n## <i>x</i>\n\ny")
    at = sound(open("guide"))
    assert not any("<script" in element.value for element in at.markdown)
    assert any("&lt;script>" in element.value for element in at.markdown)


def test_a_picture_is_shown_with_what_it_shows():
    at = sound(open("guide", guide="explaining"))
    picture = next(element for element in at.main if "image" in element.type)
    assert picture.proto.imgs[0].url and "verdict" in picture.proto.imgs[0].alt
