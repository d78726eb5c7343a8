"""What is written on the cells of a heatmap is read in both themes."""

import re

import numpy as np
import pandas as pd
import pytest
import vl_convert

from app.charts import figure, heatmap, palette
from tests.app.charts.test_palette import contrast

VALUES = np.round(np.linspace(-1, 1, 81), 3)


def agreements(low):
    values = VALUES[low <= VALUES]
    names = [f"{at}" for at in range(len(values))]
    cells = pd.DataFrame({"row": 0, "column": range(len(values)), "first": "a", "second": names, "mean": values,
                          "value": [f"{value}" for value in values], "agreement": "", "verdict": "", "chosen": False})
    return heatmap.heatmap(cells, "kendall_tau" if low < 0 else "top_overlap", 0.0), len(values)


def scores():
    values = VALUES[len(VALUES) // 2:]
    cells = pd.DataFrame({"row": "a", "column": [f"{at}" for at in range(len(values))], "mean": values, "n_seeds": 1,
                          "value": [f"{value}" for value in values], "half": "", "spread": "±", "best": False,
                          "chosen": False})
    return heatmap.score_heatmap(cells, "AUPRC", 0.1), len(values)


@pytest.mark.parametrize("theme", palette.THEMES)
@pytest.mark.parametrize("drawn", [lambda: agreements(-1.0), lambda: agreements(0.0), scores],
                         ids=["diverging", "sequential", "scores"])
def test_every_value_is_read_on_its_cell(drawn, theme):
    chart, count = drawn()
    chosen = palette.theme(theme)
    ramps = {"diverging": chosen["chartDivergingColors"], "ramp": chosen["chartSequentialColors"],
             "category": chosen["chartCategoricalColors"]}
    scene = vl_convert.vegalite_to_scenegraph({**figure.specification(chart), "width": 900, "config": {"range": ramps}})
    marks = list(_marks(scene["scenegraph"]))
    fills = [_hex(item["fill"]) for kind, item in marks if kind == "rect" and item.get("fill", "").startswith("rgb")]
    inks = [item["fill"] for kind, item in marks if kind == "text" and item.get("fill") in ("#000000", "#FFFFFF")]
    assert len(fills) == count and len(inks) in (count, 2 * count) and set(inks) == {"#000000", "#FFFFFF"}
    assert min(contrast(fill, ink) for fill, ink in zip(fills * 2, inks, strict=False)) >= 4.5


def _marks(node, kind=""):
    for item in node.get("items", ()):
        yield node.get("marktype", kind), item
        yield from _marks(item, node.get("marktype", kind))


def _hex(color):
    return "#" + "".join(f"{int(one):02X}" for one in re.findall(r"\d+", color)[:3])
