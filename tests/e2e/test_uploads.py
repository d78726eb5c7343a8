"""A reader's own data: what is too large is refused with a message before it is sent."""

import numpy as np
import pytest

from engine.data.sample_folder import sample_zip

pytestmark = pytest.mark.e2e


@pytest.mark.slow
def test_a_file_beyond_500_mb_is_refused_with_a_message(open_page, tmp_path):
    large = tmp_path / "large.npz"
    with large.open("wb") as file:
        file.truncate(501 * 1024 * 1024)  # sparse: takes no room
    page = open_page("/compare")
    page.get_by_text("Use my own data").click()
    page.locator('[data-testid="stSidebar"] [data-testid="stFileUploader"] input[type="file"]').set_input_files(large)
    uploader = page.locator('[data-testid="stSidebar"] [data-testid="stFileUploader"]')
    uploader.get_by_text("500").last.wait_for()
    said = uploader.inner_text()
    assert "must be 500" in said or "exceeds" in said.lower(), said
    assert page.locator('[data-testid="stException"]').count() == 0


def arrays(path, **changes):
    random = np.random.default_rng(0)
    whole = {"x_train": random.normal(size=(60, 4)), "y_train": random.integers(0, 3, 60),
             "x_query": random.normal(size=(12, 4)), "y_query": random.integers(0, 3, 12)}
    np.savez(path, **whole | changes)
    return path


def upload(page, path, settle):
    page.locator('[data-testid="stSidebar"] [data-testid="stFileUploader"] input[type="file"]').set_input_files(path)
    page.wait_for_timeout(1_000)
    settle(page)


@pytest.mark.core
def test_arrays_that_do_not_fit_are_refused_others_become_the_data_and_a_link_reopens_them(open_page, settle, alerts,
                                                                                          tmp_path):
    page = open_page("/compare?train=1900&example=1800")  # which one's own data do not have
    page.get_by_text("Use my own data").click()
    x = np.zeros((60, 4))
    x[3, 2] = np.nan
    upload(page, arrays(tmp_path / "broken.npz", x_train=x), settle)
    refusal = page.locator('[data-testid="stSidebar"] [data-testid="stAlert"]')
    refusal.wait_for()
    said = refusal.inner_text()
    assert "x_train" in said
    page.get_by_text("Sizes and seed").click()
    page.get_by_label("Seed", exact=True).fill("3")
    page.keyboard.press("Enter")
    page.wait_for_url("**seed=3**")
    settle(page)
    assert refusal.inner_text() == said and "seed=3" in page.url, "the sentence stays"
    upload(page, arrays(tmp_path / "mine.npz"), settle)
    page.wait_for_url("**data=upload-*")
    settle(page)
    again = open_page(page.url.split("/", 3)[3])
    chosen = again.locator('[data-testid="stSidebar"] [data-testid="stSelectbox"] input').first
    assert chosen.input_value() == "mine.npz"
    assert again.locator('[data-testid="stException"]').count() == 0
    assert not [text for one in (page, again) for text in alerts(one) if "was ignored" in text]


@pytest.mark.slow
def test_labels_of_own_pictures_are_not_made_wrong_whatever_was_chosen_before(open_page, settle, tmp_path):
    page = open_page("/noisy_labels?noise=0.25&epochs=2")
    assert page.get_by_text("of them corrupted", exact=False).count() and page.locator(".st-key-choice-noise").count()
    page.get_by_text("Use my own data").click()
    folder = tmp_path / "clothes.zip"
    folder.write_bytes(sample_zip())
    upload(page, folder, settle)
    page.wait_for_url("**data=upload-*")
    settle(page)
    page.get_by_text("as given", exact=False).first.wait_for()
    assert not page.get_by_text("of them corrupted", exact=False).count()
    assert not page.locator(".st-key-choice-noise").count() and page.console_errors == []


def test_embeddings_beside_a_table_are_read_and_a_link_keeps_them(open_page, settle, tmp_path):
    rows = [f"e{at},{'ab'[at % 2]},{at % 7}" for at in range(40)]
    (tmp_path / "mine.csv").write_text("\n".join(["id,label,x", *rows]))
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(40, 6)))
    page = open_page("/examples")
    page.get_by_text("Use my own data").click()
    upload(page, tmp_path / "mine.csv", settle)
    page.wait_for_url("**data=upload-*")
    settle(page)
    page.get_by_text("Import settings").click()
    page.locator('[data-testid="stSidebar"] [data-testid="stForm"] input[type=file]').set_input_files(
        tmp_path / "e.npy")
    page.get_by_text("e.npy").wait_for()
    page.get_by_role("button", name="Import with these settings").click()
    page.wait_for_url("**.reading**")
    settle(page)
    again = open_page(page.url.split("/", 3)[3])
    assert again.get_by_text("The model reads your embeddings, 6 numbers each", exact=False).count()
    assert page.console_errors == []
