"""The way of a researcher with scores of another program: recipe, files, computed elsewhere, dropped, listed."""

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


def test_from_the_recipe_to_the_list(open_page, settle, screenshot, tmp_path):
    page = open_page(f"/compare?{SMALL}&recipe=captum")
    panel = page.locator('[data-testid="stExpander"]', has_text="Import scores of other programs").first
    with page.expect_download() as waited:
        panel.get_by_role("button", name="Files for captum (zip)").click()
    with zipfile.ZipFile(waited.value.path()) as archive:
        assert "captum.py" in "".join(archive.namelist())
        scores, candidates = gradient_products(archive)
    np.savez(tmp_path / "captum.npz", scores=scores, candidates=candidates)
    np.save(tmp_path / "gradsim.npy", -scores.T)
    panel.locator('input[type="file"][multiple]').first.set_input_files([tmp_path / "captum.npz",
                                                                         tmp_path / "gradsim.npy"])
    panel.get_by_text("sign read as minus").first.wait_for()
    panel.get_by_role("button", name="Add all 2 to the comparison").click()
    matrix = page.locator("table.wf-matrix")
    matrix.get_by_text("gradsim").first.wait_for()
    settle(page)
    shown = matrix.inner_text()
    assert "captum" in shown and all(title in shown for title in ("query loss", "add occurrence", "one step"))
    assert panel.get_by_text("Sign read as plus").count() == panel.get_by_text("Sign read as minus").count() == 1
    again = open_page(page.url.split("/", 3)[3])
    again.locator("table.wf-matrix").get_by_text("gradsim").first.wait_for()
    assert page.console_errors == [] and again.console_errors == []
    screenshot(page, "recipes-list")
