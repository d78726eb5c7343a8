"""Every page explains its words: where a term of the glossary stands first, its line is there on hover and on focus.

Left out, because they cannot hold a mark or name something that explains itself where it opens: labels of buttons,
links and expanders, the options of a choice, error and success boxes, code, what the library's entries are called,
and what stands in a dialog.
"""

import json
import re
from html import unescape

import pytest

from app.guide.data import GUIDES
from engine.question.glossary import occurrences
from tests.pages.support import open, revealed, sound

SMALL = {"data": "digits", "train": 100, "queries": 20, "candidates": 10}
PAIR = ["query_loss/add_occurrence/one_step;eta=0.1", "query_loss/infinitesimal/local_response"]
VIEWS = {
    "home": {}, "compare": {**SMALL, "s": PAIR, "pair": "1-2"}, "approximation_error": {**SMALL, "draws": 1},
    "examples": {**SMALL, "s": PAIR}, "noisy_labels": {}, "paper": {}, "library": {}, "runs": {},
    "guide found": {"find": "npz"}, **{f"guide {name}": {"guide": name} for name in GUIDES},
    "compare more": {**SMALL, "s": PAIR, "pair": "1-2", "explain": 1}, "language_models": {},
    "language_models records": {"show": "records"}, "language_models ablation": {"show": "ablation"},
    "language_models removal": {"show": "removal"}, "examples self": {**SMALL, "s": PAIR, "self": 1},
    **{f"learn {step}{result}": {"step": step} for step in (*range(1, 9), "play") for result in ("", " result")},
}
ELSEWHERE = {("home", "influence"): "the title, which the paragraph below answers",
             ("compare", "TRAK"): "the name of a program from which scores are brought"}
TEXTS = ("markdown", "caption", "html", "heading", "title", "header", "subheader")
WIDGETS = ("selectbox", "slider", "select_slider", "number_input", "radio", "toggle", "button_group", "text_input",
           "segmented_control", "pills", "metric", "file_uploader")


def spoken(node):
    """(text, what its marks and its help say) of an element of a page; None where it is left out."""
    proto = getattr(node, "proto", None)
    help_ = getattr(proto, "help", "") or ""
    if node.type == "html" or node.type in TEXTS:
        body = getattr(proto, "body", "") or getattr(node, "value", "")
        body = re.sub(r"(?s)<style>.*?</style>|<(dl|div) class=\"wf-(glossary|entry)\">.*|`[^`]*`", " ", body)
        lines = [unescape(line) for line in re.findall(r'data-line="([^"]*)"', body)]
        body = re.sub(r'<(?:a|span) class="wf-term"[^>]*>([^<]*)</(?:a|span)>', r"\1", body)
        return unescape(re.sub(r"<[^>]*>", " ", body)), " ".join([*lines, help_])
    if node.type in WIDGETS:
        return proto.label, help_
    if node.type == "dataframe":
        config = json.loads(proto.columns or "{}")
        return " · ".join(map(str, node.value.columns)), " ".join(one.get("help") or "" for one in config.values())
    return None


def walked(block):
    for node in block:
        if node is not block and (found := spoken(node)) is not None:
            yield node.type, *found


@pytest.mark.parametrize("view", VIEWS)
def test_a_term_is_explained_where_it_stands_first(view):
    at, known, missing = sound(open(view.split()[0], **VIEWS[view])), set(), []
    at = revealed(at) if view.endswith("result") else at
    for block in (at.sidebar, at.main):
        known.clear()
        for kind, text, said in walked(block):
            for start, end, line in occurrences(text):
                if (view, text[start:end]) in ELSEWHERE:
                    continue
                if line not in known and line not in said and not (kind == "metric" and said):
                    missing.append((text[start:end], kind, text[max(0, start - 60):end + 40]))
                known.add(line)
    assert not missing, "\n".join(map(str, missing))


def test_the_walk_sees_a_page():
    kinds = {kind for kind, *_ in walked(open("compare", **VIEWS["compare"]).main)}
    assert {"markdown", "html", "metric", "selectbox", "dataframe"} <= kinds
