"""The look: one hue and one letter for each axis, everywhere; tabular figures; few lines."""

import streamlit as st

from app.widgets.words import look

AXIS_COLORS = {"B": "#0072B2", "P": "#B34E00", "T": "#00704F"}
SERIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F"]

STYLE = look.style("theme")

VEIL = f'<style id="wf-veil">\n{look.text("veil.css")}</style>\n{look.script("veil")}'
"""Widgets whose scripts are still on the way stand on the page as boxes of another height, so in its first moments the
first page is shown once they are through; then the rules go. See `app.widgets.frame.shell`."""

FOCUS = look.script("focus")
"""What keeps the place of the keyboard where the control that was pressed is gone, and takes it to what has opened."""

SIDEBAR = f'<style id="wf-place">\n{look.text("place.css")}</style>\n{look.script("place")}'
"""What holds the place of the sidebar until Streamlit has it; then it goes, since a rule on what is *not* on the page
is evaluated at every change of it: a quarter of the browser's time for a click on Compare."""


def apply() -> None:
    """Put the style sheet on the page."""
    st.html(STYLE)
