"""Where something was last looked at: the page, and its address with all parameters, one small JSON file each.

    HOME/library/views/<key>.json      {"format", "page", "address"}

A run is opened from here on the chart that waited for it, and an upload where it was last chosen.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs

from pydantic import Field

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write, disk_errors, make_folder, read_whole
from engine.basics.folders import home_folder
from engine.basics.strict_json import parse_json
from engine.basics.values import Value
from engine.store.comparisons import LONGEST_ADDRESS

FORMAT = 1
MOST_BYTES = 100_000
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")


class View(Value):
    """A page by its name, and the query string of its address."""

    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT
    page: Annotated[str, Field(pattern="^[a-z_]{1,40}$")]
    address: Annotated[str, Field(max_length=LONGEST_ADDRESS)] = ""

    @property
    def parameters(self) -> dict[str, list[str]]:
        return parse_qs(self.address)


def seen(key: str, page: str, address: str) -> None:
    """Remember that the thing of that key is on a page; an address that is too long is not kept."""
    if not _KEY.fullmatch(key) or len(address) > LONGEST_ADDRESS:
        return
    view = View.parse({"page": page, "address": address})
    if of(key) != view:
        make_folder(_folder())
        atomic_write(_folder() / f"{key}.json", json.dumps(view.model_dump(mode="json"), ensure_ascii=False) + "\n")


def of(key: str) -> View | None:
    """Where the thing of that key was last seen; None where that is not known, or cannot be read."""
    with suppress(InvalidInput, MissingData, OSError):
        if _KEY.fullmatch(key):
            content = read_whole(_folder() / f"{key}.json", "view", MOST_BYTES, "The view is too large.")
            return View.parse(parse_json(content, "The view"))
    return None


def forget(key: str) -> None:
    """Remove it; none is fine."""
    if _KEY.fullmatch(key):
        with disk_errors("the view"):
            (_folder() / f"{key}.json").unlink(missing_ok=True)


def _folder() -> Path:
    return home_folder() / "library" / "views"
