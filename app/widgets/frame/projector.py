"""Whether the dashboard stands on a projector before a class: in the address, and in the look."""

from __future__ import annotations

import streamlit as st

NAME = "classroom"
KEY = "wf-classroom"
"""The container whose presence on the page makes it large."""

STYLE = """
<style>
html:has(.st-key-wf-classroom) { font-size: 24px; }
body:has(.st-key-wf-classroom) :is([data-testid="stHeader"], [data-testid="stSidebar"],
  [data-testid="stExpandSidebarButton"], .st-key-wf-glossary,
  [data-testid="stElementToolbar"]) { display: none; }
[data-testid="stAppViewContainer"]:has(.st-key-wf-classroom) > :has(> [data-testid="stMain"]) {
  margin-left: 0 !important; }
[data-testid="stMainBlockContainer"]:has(.st-key-wf-classroom) { padding: .5rem 1.5rem .4rem; max-width: none; }
[data-testid="stMainBlockContainer"]:has(.st-key-wf-classroom) > [data-testid="stVerticalBlock"] { gap: 0; }
.st-key-wf-classroom { min-height: calc(100dvh - .95rem); gap: .5rem; }
.st-key-wf-classroom h1 { font-size: 1.28rem; padding: 0; }
.st-key-wf-classroom :is(p, li, label, button, [data-testid="stCaptionContainer"] p, .wf-specimen,
  .wf-takeaway > strong, [data-testid="stSliderThumbValue"], [data-testid="stSliderTickBar"] *, .wf-known, .wf-note) {
  font-size: max(.88rem, 20px); }
.st-key-wf-classroom .st-key-wf-classroom-body p.wf-lead { font-size: 1.2rem; line-height: 1.4; max-width: none;
  margin: 0 0 .4rem; }
.st-key-wf-classroom .wf-takeaway { font-size: 1.35rem; max-width: none; margin: 0; }
.st-key-wf-classroom-said p { font-size: 1rem; }
.st-key-wf-classroom-body { gap: .5rem; }
.st-key-wf-classroom-said [data-testid="stAlertContainer"] { padding: .5rem .8rem; }
.st-key-wf-classroom [data-testid="stRadio"] label p { font-size: 1.15rem; line-height: 1.35; }
.wf-stages { display: flex; gap: 1.2rem; list-style: none; margin: 0; padding: 0; justify-content: flex-end; }
.wf-stages li { font-size: .92rem; opacity: .72; margin: 0; padding: 0 0 .1rem; }
.wf-stages li[aria-current] { opacity: 1; font-weight: 650; border-bottom: 3px solid var(--wf-b); }
.st-key-wf-classroom > :has(> .st-key-wf-class-foot) { margin-top: auto; }
@media (min-width: 1000px) {
  .st-key-wf-classroom-body:has(> [data-testid="stElementContainer"] [data-testid="stVegaLiteChart"]) { display: grid;
    grid-template: repeat(5, min-content) 1fr min-content / 5fr 7fr; gap: 0 1.4rem; }
  .st-key-wf-classroom-body > :not(:has([data-testid="stVegaLiteChart"])) { grid-column: 1; margin-bottom: .4rem; }
  .st-key-wf-classroom-body > [data-testid="stElementContainer"]:has([data-testid="stVegaLiteChart"]) {
    grid-column: 2; grid-row: 1 / 7; }
  .st-key-wf-classroom-body > :has(.st-key-wf-classroom-said) { grid-column: 1 / 3; grid-row: 7; margin: 0; }
}
</style>
"""


def on() -> bool:
    """Whether the address asks for it."""
    return st.query_params.get(NAME) == "1"


def off() -> None:
    """Take it out of the address of a page that has no such mode, and draw the page anew."""
    if on():
        st.query_params.pop(NAME)
        st.rerun()
