"""The style sheets and scripts of the pages, files of `assets/look`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "assets" / "look"


@cache
def text(file: str) -> str:
    """The text of a file."""
    return (FOLDER / file).read_text("utf-8")


def style(name: str) -> str:
    """A style sheet as HTML."""
    return f"<style>\n{text(f'{name}.css')}</style>\n"


def script(name: str) -> str:
    """A script as HTML."""
    return f"<script>\n{text(f'{name}.js')}</script>\n"
