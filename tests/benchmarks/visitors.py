"""Visitors of a server without a browser: they speak its WebSocket as the browser does, and take no processor."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PATIENCE = 120.0  # seconds for one run of the script
LARGEST = 100_000_000  # bytes of a message


class Failed(Exception):
    """A page showed an exception, or its run did not end well."""


@dataclass
class Visitor:
    """One session. `go` opens a page or changes the address, and gives the seconds until its script has finished."""

    port: int
    elements: int = 0
    _socket: websockets.ClientConnection | None = field(default=None, repr=False)

    async def __aenter__(self) -> Visitor:
        host = f"localhost:{self.port}"
        self._socket = await websockets.connect(
            f"ws://{host}/_stcore/stream", subprotocols=["streamlit"], origin=f"http://{host}", max_size=LARGEST,
            ping_interval=None, open_timeout=PATIENCE)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()

    async def go(self, page: str, query: str = "") -> float:
        """page: its address, empty for the first; the query without its question mark."""
        asked = BackMsg()
        asked.rerun_script.query_string, asked.rerun_script.page_name = query, page
        started = time.perf_counter()
        await self._socket.send(asked.SerializeToString())
        self.elements, begun = 0, False
        while True:
            said = ForwardMsg.FromString(await self._socket.recv())
            kind = said.WhichOneof("type")
            begun |= kind == "new_session"
            self.elements += kind in ("delta", "ref_hash")
            if kind == "delta" and said.delta.new_element.WhichOneof("type") == "exception":
                raise Failed(f"{page}: {said.delta.new_element.exception.message}")
            if kind == "script_finished" and begun and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if said.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
                    raise Failed(f"{page}: {said.script_finished}")
                return time.perf_counter() - started
