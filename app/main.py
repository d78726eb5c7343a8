"""Entry of the dashboard: `python -m streamlit run app/main.py` from the root of the repository."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

ROOT = Path(__file__).parents[1]
if (ROOT / "pyproject.toml").is_file() and str(ROOT) not in sys.path:  # a checkout; what is installed is found
    sys.path.insert(0, str(ROOT))

from engine.basics import environment  # noqa: E402

environment.settle()  # before torch is imported

from app.charts.enlarged import enlarged  # noqa: E402
from app.widgets.choices import choice  # noqa: E402
from app.widgets.frame import (  # noqa: E402
    account,
    ahead,
    base,
    code_ahead,
    door,
    garbage,
    navigation,
    projector,
    shell,
    theme,
    theme_switch,
    trail,
    visitors,
)
from app.widgets.frame.guard import guarded  # noqa: E402
from app.widgets.frame.turns import turn  # noqa: E402
from app.widgets.jobs import job_panel  # noqa: E402
from app.widgets.words import glossary  # noqa: E402
from engine.basics import plugins  # noqa: E402

ICON = ROOT / "assets" / "icon.svg"
LETTERS = 0.75  # of a page's charts on a projector, beside those of a lesson


def main() -> None:
    """Navigation first, the data below it, then the page; what a page cannot handle is shown as its sentence."""
    from app.widgets.pickers import pickers  # once Streamlit's runtime stands, which holds what it caches

    st.set_page_config(page_icon=ICON, layout="wide")
    theme.apply()
    if not projector.on():
        st.logo(ICON, size="large")
    account.enter()
    glossary.begin()
    job_panel.begin()
    visiting = visitors.visiting()
    first, hidden = "learn" if visiting else "home", visiting or projector.on()
    shown = [one for one in navigation.PAGES if not visiting or one.name == first]
    pages = [st.Page(f"../pages/{one.name}.py", title=one.title, icon=one.icon, default=one.name == first,
                     url_path="" if one.name == first else one.name) for one in shown]
    page = st.navigation(pages, expanded=True,  # of more than twelve, the last ones would be folded away
                         position="hidden" if hidden else "sidebar")
    st.set_page_config(page_title=f"{page.title} · Whichfluence" if page.url_path else "Whichfluence")
    projected = projector.on() and page.url_path != "learn" and not visiting
    if projected:
        projector.bar()
    entry = next(one for one in shown if one.name == (page.url_path or first))
    choice.arrive(page.url_path, entry.own)
    trail.begin(page.url_path)
    choice.remind()
    try:
        with guarded("This page"):
            plugins.load()
            if not hidden:
                with st.sidebar:
                    theme_switch.show()
            if entry.on_data:
                pickers.problem_picker()
            with turn(), enlarged(0, LETTERS * projector.scale()) if projected else nullcontext():
                page.run()
            trail.remember()
    finally:
        garbage.set_aside()


@asynccontextmanager
async def serving(_app: st.App) -> AsyncIterator[None]:
    """Around the life of a server, whose first visitor waits for no import."""
    from app.home import first_look
    from app.widgets.pickers import pickers, specification_list  # noqa: F401

    ahead.begin()
    ahead.ask("first", first_look.ahead())
    yield


if __name__ == "__main__":  # Streamlit runs this file for every visitor
    main()
else:  # and its server imports it once
    served = st.App("main.py", lifespan=serving, middleware=[
        Middleware(door.Door), Middleware(shell.Shell, scripts=base.script([one.name for one in navigation.PAGES])
                                          + code_ahead.SCRIPT)])
