"""Full collections that look at what a session made, and not at every module again.

Streamlit collects all garbage after each run of a page, which has to look at every object there is: those of the
imported libraries, some hundred thousand, among them. They stay as long as the server, so they are set aside.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading

GROWN = 50
"""Modules that are imported since, from which on it is worth to set them aside, too."""
_aside = 0
_lock = threading.Lock()


def set_aside() -> None:
    """Leave what is imported by now out of later collections; call it at the end of a run."""
    global _aside
    with _lock:
        if len(sys.modules) < _aside + GROWN:
            return
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)  # a library that counts what is left at the end finds nothing then
        _aside = len(sys.modules)
