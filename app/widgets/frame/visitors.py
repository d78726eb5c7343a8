"""A class of visitors: devices in the network that join a lesson by a code, and may do nothing else.

Off unless the server was started for a class (`run --classroom`), which puts the code and the address into the
environment. Whoever sits at the server's own machine teaches; everybody else sees the question of the lesson, with no
other page, no upload and no computation.
"""

from __future__ import annotations

import hmac
import os

import streamlit as st
from starlette.types import Scope

CODE, ADDRESS = "WHICHFLUENCE_CLASS", "WHICHFLUENCE_CLASS_ADDRESS"
JOIN = "join"
"""The parameter of an address that holds the code."""
LOCAL = ("localhost", "127.0.0.1", "[::1]")
MOST = 200
"""Devices that are connected at once."""
METHODS = ("GET", "HEAD")


def code() -> str:
    """The code of the class; empty where there is none."""
    return os.environ.get(CODE, "").strip()


def address() -> str:
    """What a device opens, with the code."""
    return f"{os.environ.get(ADDRESS, '').strip()}/?{JOIN}={code()}"


def admits(given: str) -> bool:
    """Whether what a visitor typed is the code."""
    return bool(code()) and hmac.compare_digest(given.strip().upper().encode(), code().encode())


def visiting() -> bool:
    """Whether this session belongs to a device of the class. An error in telling makes it one."""
    return bool(code()) and not (st.context.ip_address is None and _local(str(st.context.headers.get("Host", ""))))


def comes_from_afar(scope: Scope) -> bool:
    """Whether a request of a server for a class is not of its own machine."""
    client = (scope.get("client") or ("",))[0]
    hosts = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == b"host"]
    return bool(code()) and not (client in ("127.0.0.1", "::1") and all(map(_local, hosts)))


def _local(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower() in LOCAL
