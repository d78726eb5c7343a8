"""What a chart is drawn with on a page."""

import json

from streamlit.testing.v1 import AppTest


def page():
    import altair as alt
    import pandas as pd

    from app.charts.draw import draw

    def rows(frame):
        return alt.Chart(frame).mark_point().encode(x="value:Q", y="row:N").configure_point(size=30)

    draw(rows, pd.DataFrame({"row": ["a", "b"], "value": [1.0, 2.0]}), alt="Two rows.", key="rows")


def test_names_of_rows_stand_beside_them_with_what_a_chart_configures_itself():
    """Streamlit's own configuration pushes the first name below its row."""
    chart, = AppTest.from_function(page).run().get("vega_lite_chart")
    assert json.loads(chart.proto.spec)["config"] == {"axisYDiscrete": {"labelFlush": False}, "point": {"size": 30}}
