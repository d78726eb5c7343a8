"""Which names the server answers to, and whose pages may talk to it."""

import pytest

from app.widgets.frame.door import host_allowed, origin_allowed

HOSTS = ["localhost", "127.0.0.1", "::1", "*.example.org"]


@pytest.mark.parametrize("host", ["localhost", "localhost:8501", "LOCALHOST:1", "127.0.0.1:8501", "[::1]:8501",
                                  "localhost.", "a.example.org"])
def test_own_names(host):
    assert host_allowed(host, HOSTS) and host_allowed(host, ["*"])


@pytest.mark.parametrize("host", ["", "evil.test", "evil.test:8501", "localhost.evil.test", "evil.test/localhost",
                                  "localhost@evil.test", "evil@localhost", "localhost:x", "localhost:9999999",
                                  "example.org", "localhost#", "127.0.0.2", "[::2]", "[", "localhost, evil.test"])
def test_other_names(host):
    assert not host_allowed(host, HOSTS) and not host_allowed(host, [])


@pytest.mark.parametrize(("origin", "fine"), [
    ("http://localhost:8501", True), ("https://localhost:8501", True), ("http://LOCALHOST:8501", True),
    ("https://listed.test", True), ("http://localhost:3000", False), ("http://localhost", False),
    ("http://127.0.0.1:8501", False), ("http://evil.test", False), ("null", False), ("", False),
    ("file://localhost:8501", False), ("http://localhost:8501.evil.test", False)])
def test_origins(origin, fine):
    assert origin_allowed(origin, "localhost:8501", ["https://listed.test"]) == fine
