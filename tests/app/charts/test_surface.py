import numpy as np
import plotly.graph_objects as go

from app.charts import surface


def test_the_surface_has_its_points_and_its_slice():
    values = np.array([[1.0, 0.9], [0.8, 0.7], [0.6, np.nan]])
    figure = go.Figure(surface.surface(values, (0.1, 0.5, 1.0), (1, 20), ("η", "steps", "τ"), "one step"))
    cloth, line = figure.data
    assert np.array_equal(cloth.z, values.T, equal_nan=True) and cloth.text[1][0] == "η 0.1<br>steps 20<br>τ 0.900"
    assert np.allclose(line.z, values[:, 0], atol=0.01) and (cloth.cmin, cloth.cmax) == (0.6, 1.0)
    assert figure.layout.scene.xaxis.ticktext == ("0.1", "0.5", "1")
