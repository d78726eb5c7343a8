"""How a server is opened to a class: which address it answers to, and the code by which devices join."""

from __future__ import annotations

import re
import secrets
import socket
import sys
from collections.abc import MutableMapping

from engine.basics.errors import InvalidInput

CODE, ADDRESS, SIGN_IN = "WHICHFLUENCE_CLASS", "WHICHFLUENCE_CLASS_ADDRESS", "WHICHFLUENCE_SIGN_IN"
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Without those that are taken for one another."""
LENGTH, AUTO = 6, "auto"
OWN = ("localhost", "127.0.0.1")


def open_to_class(address: str, port: int, environment: MutableMapping[str, str]) -> list[str]:
    """Options of Streamlit for a server that a class reaches at `address`; its code goes into the environment.

    Raises `InvalidInput` where the address is none, or the server asks for a sign-in.
    """
    if environment.get(SIGN_IN, "").strip():
        raise InvalidInput(f"Classes join without signing in; start the server without {SIGN_IN}.")
    host = _own_address() if address == AUTO else address.strip()
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?", host):
        raise InvalidInput(f"`{address}` is not an address of this machine; give a name or an IPv4 address such as "
                           "192.168.1.20, without http:// and port.")
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    environment[CODE], environment[ADDRESS] = code, f"http://{host}:{port}"
    print(f"The class joins at http://{host}:{port} with the code {code}. Teach at http://localhost:{port}/learn.",
          file=sys.stderr)
    hosts = [option for name in dict.fromkeys((*OWN, host)) for option in ("--server.allowedHosts", name)]
    return ["--server.address", "0.0.0.0", *hosts]


def _own_address() -> str:
    """The address of this machine in its network; no packet is sent to learn it. Raises `InvalidInput`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            raise InvalidInput("This machine is not on a network; give its address, as in `--classroom 192.168.1.20`."
                               ) from None
        return probe.getsockname()[0]
