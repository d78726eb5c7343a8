"""Downloads: a file is written when it is clicked, and a page says nothing of it before."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[4]


def page():
    import pandas as pd

    from app.widgets.results import downloads, manifest_view
    from engine.scoring import controlled

    class Table(pd.DataFrame):
        def to_csv(self, *arguments, **options):
            raise AssertionError("written before it was asked for")

    downloads.chart_extras("agreement", Table({"tau": [0.5]}), [controlled.step_scoring("query_loss", 0.1)])
    manifest_view.show({"scale": "small"}, "agreement")


def test_nothing_is_written_before_the_click():
    at = AppTest.from_function(page, default_timeout=60).run()
    assert not at.exception, at.exception[0].message
    buttons = [button.proto for button in at.get("download_button")]
    assert [button.label for button in buttons] == ["CSV", "Specifications (JSON)", "Manifest (JSON)"]
    assert all(button.deferred_file_id and not button.url for button in buttons)
    assert all(button.ignore_rerun for button in buttons)


def test_every_download_is_such_a_button():
    found = [path.relative_to(ROOT).as_posix() for room in ("app", "pages") for path in (ROOT / room).rglob("*.py")
             if ".download_button(" in path.read_text(encoding="utf-8")]
    assert found == ["app/widgets/results/downloads.py"]
