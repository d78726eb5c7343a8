"""Who may talk to the server: pages of its own alone, under a name that it answers to.

A server on this machine can be reached from every page that the browser opens. A page of another address is kept out
by the `Origin` of its WebSocket; one whose address was made to point at this machine (DNS rebinding) by the `Host`; and
no page may show ours in a frame. `Door` is ASGI middleware that refuses before Streamlit sees a request, which would
ask an outside service for this machine's address on every foreign origin.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.widgets.frame import visitors

POLICY = ((b"content-security-policy", b"frame-ancestors 'none'; img-src 'self' data: blob:"),
          (b"x-frame-options", b"DENY"))
REFUSED = (b"This server does not answer to that name; open it as http://localhost, or name the host in "
           b"server.allowedHosts.\n")
COMPONENTS = "/component/"
"""Where Streamlit serves parts of a page that the page itself shows in frames."""


class Door:
    """Refuses foreign hosts (403) and foreign origins of WebSockets, keeps pages out of frames, and pictures of
    other servers out of pages.

    Hosts are those of `server.allowedHosts`; of origins that of the page itself, and those that
    `server.corsAllowedOrigins` names. Both may be set where the server stands behind a proxy.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.connected = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if not _welcome(scope):
            await _refuse(scope, send)
        elif visitors.comes_from_afar(scope):
            await self._visit(scope, receive, send)
        elif scope["type"] == "http" and not scope["path"].startswith(COMPONENTS):
            await self.app(scope, receive, _WithPolicy(send))
        else:
            await self.app(scope, receive, send)

    async def _visit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What a device of a class may do: read, and hold one of `visitors.MOST` connections."""
        if scope["type"] == "http":
            allowed = scope["method"] in visitors.METHODS
            await (self.app(scope, receive, _WithPolicy(send)) if allowed else _refuse(scope, send))
        elif self.connected >= visitors.MOST:
            await _refuse(scope, send)
        else:
            self.connected += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self.connected -= 1


class _WithPolicy:
    """Says with every answer that no page may show it in a frame, and that it loads no picture from elsewhere."""

    def __init__(self, send: Send) -> None:
        self.send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *POLICY]}
        await self.send(message)


def host_allowed(host: str, allowed: list[str]) -> bool:
    """Whether a `Host` header names one of `allowed`, whatever its port; `*.example.org` stands for all below it."""
    try:
        address = urlsplit(f"//{host}")
        name, _ = (address.hostname or "").rstrip("."), address.port
    except ValueError:
        return False
    if not name or address.netloc != host or "@" in host:
        return False
    known = [one.strip().lower().rstrip(".") for one in allowed]
    return any(one in ("*", name) or (one.startswith("*.") and name.endswith(one[1:])) for one in known)


def origin_allowed(origin: str, host: str, allowed: list[str]) -> bool:
    """Whether an `Origin` header is the page's own, at the same host and port, or one of `allowed`."""
    scheme, _, address = origin.partition("://")
    return (scheme in ("http", "https") and address.lower() == host.lower()) or origin in allowed


def _welcome(scope: Scope) -> bool:
    hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
    if len(hosts) != 1 or not host_allowed(hosts[0], st.get_option("server.allowedHosts")):
        return False
    own = st.get_option("server.corsAllowedOrigins")
    return scope["type"] == "http" or all(origin_allowed(origin, hosts[0], own) for origin in origins)


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: an HTTP 403
        return
    await send({"type": "http.response.start", "status": 403,
                "headers": [(b"content-type", b"text/plain"), (b"content-length", str(len(REFUSED)).encode())]})
    await send({"type": "http.response.body", "body": REFUSED})
