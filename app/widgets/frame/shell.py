"""The look, and what must precede Streamlit's own code, within the very page that the server sends.

Streamlit sends an empty page and fills it: style sheets that a script sends come after the sidebar has pushed
everything aside. `Shell` is ASGI middleware that writes the style sheet into that empty page, so that nothing moves
when the first words arrive, and the script by which the browser's history has one step for one act.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.widgets.choices import history
from app.widgets.frame import theme, theme_switch

CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since")
"""Request headers after which the page would come compressed, or not at all."""
VALIDATORS = (b"content-length", b"etag", b"last-modified")


class Shell:
    """Puts `style` and `scripts` at the end of every HTML page of `app`, behind Streamlit's own style sheets."""

    def __init__(self, app: ASGIApp, style: str = theme.STYLE + theme.VEIL + theme.SIDEBAR
                 + theme.FOCUS + history.SCRIPT + theme_switch.SCRIPT, scripts: str = "") -> None:
        self.app, self.style = app, (style + scripts).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = dict(scope.get("headers", ())).get(b"accept", b"")
        if scope["type"] != "http" or b"text/html" not in accepted:
            await self.app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in CONDITIONS]
        await self.app({**scope, "headers": headers}, receive, _Styled(send, self.style))


class _Styled:
    """Holds an HTML answer back until it is whole, and sends it with the style."""

    def __init__(self, send: Send, style: bytes) -> None:
        self.send, self.style = send, style
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and b"text/html" in dict(message["headers"]).get(
                b"content-type", b""):
            self.start = message
        elif self.start is None or message["type"] != "http.response.body":
            await self.send(message)
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body"):
                await self._whole(self.start)

    async def _whole(self, start: Message) -> None:
        body = self.body.replace(b"</body>", self.style + b"</body>", 1)
        headers = [(name, value) for name, value in start["headers"] if name not in VALIDATORS]
        await self.send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self.send({"type": "http.response.body", "body": body})
