"""Learn: nine short lessons, each live, and a plane to play with; the same before a class."""

import streamlit as st

from app.learn import audience, classroom, handout, panel, visit
from app.widgets.frame import projector, visitors
from app.widgets.words import glossary

if visitors.visiting():
    visit.show()
elif projector.on():
    panel.project()
else:
    st.title("Learn")
    glossary.caption(
        "Nine steps of a minute each: seven on images of clothing, one on handwritten digits, the last on thirty "
        "points. Everything is computed live, and every choice is in the address. Dotted words link to the "
        "glossary.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        step = panel.choose()
        st.button("Classroom mode", icon=":material/cast_for_education:", on_click=classroom.enter,
                  help="Large and without a sidebar, for a projector: the class predicts before it sees each result.")
    audience.invite()
    panel.show(step)
    panel.onward(step)
    handout.show(panel.STEPS)
    glossary.whole()
