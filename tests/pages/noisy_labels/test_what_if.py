"""What is said of a change of accuracy: whether it may be nothing, and when its interval says little."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.support import says


@pytest.mark.parametrize(("half", "said"), [
    (0.02, "includes zero"), (0.005, "excludes zero"), (0.0, "All training seeds give the same change"),
    (float("nan"), "One training seed")])
def test_a_change_is_said_with_its_interval(home, half, said):
    def script():
        import pandas as pd
        import streamlit as st

        from app.noisy_labels import what_if

        half = st.session_state["half"]
        what_if._result(pd.DataFrame({"what": ["before", "after", "change"], "mean": [0.9, 0.91, 0.01],
                                      "ci95": [half] * 3, "n_seeds": [3] * 3}), "over seeds.")

    at = AppTest.from_function(script, default_timeout=60)
    at.session_state["half"] = half
    assert says(at.run(), said) and not at.exception
