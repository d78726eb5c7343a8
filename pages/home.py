"""Home: what this is, one real disagreement, and where to go."""

import streamlit as st

from app.home import first_look
from app.widgets.frame.guard import guarded
from app.widgets.frame.navigation import PAGES
from app.widgets.jobs import job_panel
from app.widgets.pickers import specification_list
from app.widgets.words import glossary

READERS = (
    ("You compare attribution methods", "Find out whether two methods disagree because one is inexact, or because they "
     "answer different questions.", "compare", "Compare the named methods", "table-1"),
    ("You teach, or learn", "Nine live experiments, each with one control, one figure and one sentence to take "
     "away.", "learn", "Take the tour", None),
    ("You look for bad training data", "Upload images or arrays, review the labels that look wrong, and see what "
                                       "removing them does.", "noisy_labels", "Find noisy labels", None),
)

st.title("Which influence do you mean?")
glossary.lead("“Which training examples influenced this prediction?” has no answer until you say what is measured "
              "(<b>B</b>, the behavior), what is done to the example (<b>P</b>, the intervention) and how training "
              "responds (<b>T</b>, the training process). Whichfluence computes the answer to the question you "
              "choose, and says whether two answers differ in the question, in the approximation, or in both.")
st.container(key="wf-start").page_link(  # the browser itself goes there, without one more run of this page
    "../pages/compare.py", label="Start a first comparison", icon=":material/play_arrow:",
    query_params=specification_list.address("first"))
figure = st.container(key="wf-first-look").empty()
figure.skeleton(height=500)

st.subheader("What you can do here")
for column, (title, line, page, label, preset) in zip(st.columns(3, gap="large"), READERS, strict=True):
    column.markdown(f"**{title}**  \n{line}")
    column.page_link(f"../pages/{page}.py", label=label, icon=":material/arrow_forward:",
                     query_params=specification_list.address(preset) if preset else None)

st.subheader("Every page in one line")
for entry in PAGES[1:]:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(f"../pages/{entry.name}.py", label=f"**{entry.title}**", icon=entry.icon, width=230)
        glossary.markdown(entry.line, width="content")

with figure.container(), guarded("The first look"):
    with st.spinner("Computing two exact answers to one query…"):
        answer = first_look.first_look()
    if (look := job_panel.beside(answer)) is not None:
        first_look.show(look)
