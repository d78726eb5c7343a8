"""The shell: pages leave with the style in them, whole and uncompressed; everything else passes untouched."""

import asyncio
import json

import pytest

from app.widgets.choices import history
from app.widgets.frame import base, code_ahead
from app.widgets.frame.shell import Shell

PAGE = [b"<html><head></head><bo", b"dy></body></html>"]


def served(kind, accept=b"text/html,*/*"):
    """(headers that the app inside saw, messages that went out)."""
    seen, sent = {}, []

    async def inside(scope, receive, send):
        seen.update(scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [
            (b"content-type", kind), (b"content-length", b"39"), (b"etag", b"x")]})
        for place, part in enumerate(PAGE):
            await send({"type": "http.response.body", "body": part, "more_body": place == 0})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"accept", accept), (b"accept-encoding", b"gzip"), (b"if-none-match", b"x")]}
    asyncio.run(Shell(inside, "<style></style>")(scope, None, send))
    return seen, sent


def test_a_page_gets_the_style_and_its_length():
    seen, (start, body) = served(b"text/html; charset=utf-8")
    assert body["body"] == b"<html><head></head><body><style></style></body></html>"
    assert dict(start["headers"]) == {b"content-type": b"text/html; charset=utf-8",
                                      b"content-length": str(len(body["body"])).encode()}
    assert list(seen) == [b"accept"]


@pytest.mark.parametrize(("kind", "accept"), [(b"text/css", b"text/html"), (b"text/html", b"*/*")])
def test_everything_else_passes(kind, accept):
    _, sent = served(kind, accept)
    assert [message.get("body") for message in sent[1:]] == PAGE and (b"etag", b"x") in sent[0]["headers"]


def test_the_page_brings_the_script_of_its_history():
    assert history.SCRIPT in Shell(None).style.decode()


def test_the_page_tells_where_the_server_lies():
    assert json.dumps(["compare"]) in base.script(["compare"]) and b"__x__" in Shell(None, scripts="__x__").style


def test_the_code_that_is_loaded_ahead_is_among_streamlits_files():
    """A new Streamlit that names them otherwise would only lose the time."""
    assert [name.split(".")[0] for name in code_ahead.FILES] == list(code_ahead.NAMES)
    assert all(name in code_ahead.SCRIPT for name in code_ahead.FILES)
