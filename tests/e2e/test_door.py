"""A real server refuses what comes from elsewhere, over raw handshakes as a hostile page's browser sends them."""

import socket
import time
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.e2e

SOON = 5.0
"""Seconds: a refusal asks nobody outside."""


def answer(server, path, **headers):
    """(status, headers as lower-case text) of one raw request."""
    port = urlsplit(server).port
    lines = [f"GET {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value.format(port=port)}"
                                       for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall("\r\n".join(lines).encode())
        found = b""
        while b"\r\n\r\n" not in found and (part := connection.recv(65_536)):
            found += part
    return int(found.split()[1]), found.partition(b"\r\n\r\n")[0].decode("latin-1").lower()


def handshake(server, **headers):
    return answer(server, "/_stcore/stream", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
                  Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers)[0]


@pytest.mark.core
@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}"])
def test_a_page_of_the_server_itself_is_let_in(server, host):
    assert handshake(server, Host=host, Origin=f"http://{host}") == 101


@pytest.mark.core
@pytest.mark.parametrize(("host", "origin"), [
    ("evil.test:{port}", "http://evil.test:{port}"),  # DNS rebinding: the name points here, so both agree
    ("127.0.0.1:{port}", "http://evil.test"), ("127.0.0.1:{port}", "null"),
    ("127.0.0.1:{port}", "http://localhost:{port}"), ("127.0.0.1:{port}", "http://127.0.0.1:1"),
    ("localhost:{port}", "http://localhost:3000"), ("127.0.0.1:{port}", "http://0.0.0.0:{port}")])
def test_everything_else_is_refused_at_once(server, host, origin):
    started = time.monotonic()
    assert handshake(server, Host=host, Origin=origin) == 403
    assert time.monotonic() - started < SOON


def test_pages_answer_to_their_own_names_and_stay_out_of_frames(server):
    status, headers = answer(server, "/", Host="127.0.0.1:{port}", Accept="text/html", Connection="close")
    assert status == 200 and "frame-ancestors 'none'" in headers and "x-frame-options: deny" in headers
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        assert answer(server, path, Host="evil.test:{port}", Connection="close")[0] == 403
