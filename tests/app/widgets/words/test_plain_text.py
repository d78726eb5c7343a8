"""A reader's own text comes through Markdown as it was written."""

import re
from html import unescape
from types import SimpleNamespace

import pytest

from app.widgets.words import glossary
from app.widgets.words.plain_text import LONGEST, UNLINKED, plain, sentence

WRITTEN = ["**bold** _it_ `code`", "[link](http://x.test)", "<b>html</b> &lt; & <script>", "# no heading",
           "$x^2$ :red[a]", "a-b.c+d!|~~e~~", "\\*", "www.x.test a@x.test"]


def through_the_glossary(text):
    kept = []
    glossary.markdown(text, SimpleNamespace(markdown=lambda written, **_: kept.append(written)))
    return kept[0]


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("write", [str, through_the_glossary])
def test_nothing_in_it_is_formatted(text, write):
    """CommonMark: a backslash before punctuation stands for the sign itself, an entity for its letter."""
    written = write(plain(text))
    assert not re.search(rf"(https?|www|@)(?!{UNLINKED})(\\)?[:.\w]", written)  # no address of the browser's Markdown
    assert not set(re.sub(r"\\[!-/:-@\[-`{-~]|&[a-z]+;", "", written)) & set(r"\`*_{}[]()#+-.!|<>~:$&")
    assert unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written)).replace(UNLINKED, "") == text


FOREIGN = ["x` **bold** _it_ [link](http://x.test) ![](http://x.test/a.png) `y", "` :red[a] :material/home: $x$ ~~z~~",
           "`", "``", "`` ` <b>html</b> &lt; `", "a\n\n# heading\n- list\n\n| t |", "`" * 50,
           "` http://x.test www.x.test a@x.test", "\\` *a*"]


def formatted(written):
    """What CommonMark may format: the text without code, escaped signs and entities."""
    return re.sub(r"\\[!-/:-@\[-`{-~]|&[a-z]+;|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)",
                  lambda part: " " if part[0].startswith("`") else "", written)


@pytest.mark.parametrize("text", FOREIGN)
@pytest.mark.parametrize("message", ["There is no dataset `{}`; choose another.", "{}", "`{}`: it is `{}`"])
def test_a_message_formats_nothing_of_what_it_quotes(text, message):
    written = sentence(message.format(text, text))
    assert "\n" not in written
    rest = formatted(written)
    assert not set(rest) & set("*[]<>~$|`&") and not re.search(r"(?<!\w)_|_(?!\w)|:\w|^[#>+=-]", rest), written
    assert not re.search(rf"(https?|www|@)(?!{UNLINKED})[:.\w]", rest)


@pytest.mark.parametrize("text", ["There is no dataset `digit`; did you mean `digits`?",
                                  "The α of `upweight` is 0; give one.",
                                  "`spec.json` holds a list, not an object; check WHICHFLUENCE_DATA (or 3.5 - 2)."])
def test_our_own_sentences_stay_as_they_are(text):
    assert sentence(text) == text


def test_a_message_is_shortened():
    assert len(sentence("There is no `" + "x" * 10_000 + "`.")) < 150
    assert sentence("word " * 1_000).endswith("…") and len(sentence("word " * 1_000)) <= LONGEST


@pytest.mark.parametrize("write", [plain, sentence])
def test_nothing_turns_the_direction_or_commands_a_terminal(write):
    assert write("a\u202egnp\u2066 \x1b[2Jb\x07") == write("agnp [2Jb") and write("שלום é😀") == "שלום é😀"
