"""The way of a researcher with scores of another program: recipe, files, computed elsewhere, dropped, read as a row."""

import io
import zipfile

import numpy as np
import pytest

pytestmark = pytest.mark.e2e

SMALL = "data=digits&train=60&queries=20&candidates=8&seed=0&nseeds=1"


def gradient_products(archive):
    """(m, k) products of the gradients of softmax regression's loss, by NumPy alone, from the files of the recipe."""
    problem, weights = (np.load(io.BytesIO(archive.read(name))) for name in ("problem.npz", "weights.npz"))
    matrix = next(array for array in weights.values() if array.ndim == 2)

    def gradients(x, y):
        logits = x @ matrix.T
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return (shares - np.eye(len(matrix))[y])[:, :, None] * x[:, None, :]

    chosen = problem["candidates"]
    train, query = (gradients(problem[f"x_{part}"], problem[f"y_{part}"]) for part in ("train", "query"))
    return np.einsum("mcd,kcd->mk", query, train[chosen]), chosen


def test_from_the_recipe_to_the_row(open_page, settle, screenshot, tmp_path):
    page = open_page(f"/compare?{SMALL}&recipe=captum")
    panel = page.locator('[data-testid="stExpander"]', has_text="Bring scores of another program").first
    with page.expect_download() as waited:
        panel.get_by_role("button", name="Files for captum (zip)").click()
    with zipfile.ZipFile(waited.value.path()) as archive:
        assert "captum.py" in "".join(archive.namelist())
        scores, candidates = gradient_products(archive)
    np.savez(tmp_path / "captum.npz", scores=scores, candidates=candidates)
    panel.locator('input[type="file"]').set_input_files(tmp_path / "captum.npz")
    row = page.get_by_role("table", name="External scores: Kendall tau")
    row.wait_for()
    settle(page)
    assert "captum · sign read as plus" in row.inner_text()
    exact = panel.locator('[data-testid="stMetric"]', has_text="Kendall tau").first.get_by_test_id("stMetricValue")
    assert 0.99 < float(exact.inner_text()) < 1  # the exact answer takes the step, and a product of gradients does not
    assert all(title in row.inner_text() for title in ("query loss", "add occurrence", "one step"))
    again = open_page(page.url.split("/", 3)[3])
    again.get_by_role("table", name="External scores: Kendall tau").wait_for()
    assert page.console_errors == [] and again.console_errors == []
    screenshot(page, "recipes-row")
