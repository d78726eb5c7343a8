"""The library: what is kept is listed, annotated, opened and deleted; what is gone or damaged is a sentence."""

import io
import itertools
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from engine.basics.errors import InvalidInput
from engine.basics.folders import at_home
from engine.data import record_files, uploads
from engine.external import saved_tables as brought_tables
from engine.external.table import Table
from engine.jobs import JobQueue, run_job
from engine.library import SHELVES, notes, views
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from engine.store import comparisons
from engine.store.results import Store
from engine.store.sketch import Bars, Grid, Pictures, Words
from tests.engine.requests_for_tests import scores_payload

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
LOGIT = Scoring.of("query_logit", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def entry(shelf):
    [found] = SHELVES[shelf].entries()
    return found


def arrays():
    held, rng = io.BytesIO(), np.random.default_rng(0)
    np.savez(held, x_train=rng.random((20, 4)), y_train=np.arange(20) % 2, x_query=rng.random((4, 4)),
             y_query=np.arange(4) % 2)
    held.seek(0)
    return held


def finished():
    payload = scores_payload(ProblemSource(n_train=40, n_queries=4, n_test=10), [STEP, LOGIT], 8)
    run_job(ScoresRequest.name, payload)
    return JobQueue().submit(ScoresRequest.name, payload, "Two specifications")


def test_a_fresh_home_holds_what_was_published_alone():
    assert {shelf for shelf in SHELVES if SHELVES[shelf].entries()} == {"published"}
    first = SHELVES["published"].entries()[0]
    assert first.page == "paper" and set(first.parameters) >= {"experiment", "preset"} and not first.trouble
    assert isinstance(SHELVES["published"].sketch(first.key), Bars)
    with pytest.raises(InvalidInput, match="cannot be deleted"):
        SHELVES["published"].delete(first.key)


def test_a_saved_comparison_keeps_name_note_tags_and_matrix(home):
    kept = comparisons.save("Steps", "They part.", "s=a&s=b&metric=sign", "digits", [[1.0, 0.4], [0.4, None]])
    found = entry("comparisons")
    assert (found.title, found.noted.note, found.page, found.parameters) == (
        "Steps", "They part.", "compare", {"s": ["a", "b"], "metric": ["sign"]})
    assert SHELVES["comparisons"].sketch(kept.key).rows == ((1.0, 0.4), (0.4, None))
    SHELVES["comparisons"].annotate(kept.key, "Steps again", "", " talk,, thesis , talk")
    found = entry("comparisons")
    assert (found.title, found.noted.note, found.noted.tags) == ("Steps again", "", ("talk", "thesis"))
    assert json.loads((home / "saved" / f"{kept.key}.json").read_text())["format"] == comparisons.FORMAT
    SHELVES["comparisons"].delete(kept.key)
    assert not SHELVES["comparisons"].entries() and not list((home / "library" / "notes").glob("*"))


@pytest.mark.parametrize(("note", "tags", "said"), [
    ("", "x" * 5_000, "at most 40 characters"), ("n" * 2_001, "", "more than 2,000 characters"),
    ("", ",".join(map(str, range(30))), "30 tags"), ("", "line\nbreak", "at most 40 characters")])
def test_a_note_or_tag_that_makes_no_sense_is_a_sentence_and_changes_nothing(note, tags, said):
    kept = comparisons.save("Steps", "As it was.", "s=a")
    with pytest.raises(InvalidInput, match=said):
        SHELVES["comparisons"].annotate(kept.key, "Other", note, tags)
    assert entry("comparisons").title == "Steps" and entry("comparisons").noted.note == "As it was."


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b'{"tags": 3}', b"\xff\xfe", b"null"])
def test_what_is_damaged_says_so_and_can_be_deleted(home, content):
    kept = comparisons.save("Steps", "", "s=a")
    notes.write("comparisons", kept.key, "", "talk")
    (home / "library" / "notes" / f"comparisons-{kept.key}.json").write_bytes(content)
    assert entry("comparisons").title == "Steps"
    (home / "saved" / f"{kept.key}.json").write_bytes(content)
    found = entry("comparisons")
    assert ("newer version" if b"99" in content else "cannot be read") in found.trouble and not found.page
    views.seen("a" * 64, "compare", "s=a")
    (home / "library" / "views" / f"{'a' * 64}.json").write_bytes(content)
    assert views.of("a" * 64) is None
    SHELVES["comparisons"].delete(kept.key)
    assert not SHELVES["comparisons"].entries()


def test_a_run_opens_where_it_was_waited_for_and_says_that_its_result_is_gone():
    job = finished()
    assert (entry("runs").page, entry("runs").parameters) == ("runs", {"run": [job.id]})
    views.seen(job.id, "compare", "s=a&s=b&seed=3")
    assert (entry("runs").page, entry("runs").parameters) == ("compare", {"s": ["a", "b"], "seed": ["3"]})
    sketch = SHELVES["runs"].sketch(job.id)
    assert isinstance(sketch, Grid) and sketch.rows[0][0] == 1.0 and sketch.rows[0][1] == sketch.rows[1][0]
    Store().delete(job.id)
    assert "no longer in the store" in entry("runs").trouble
    SHELVES["runs"].delete(job.id)
    assert not SHELVES["runs"].entries() and views.of(job.id) is None


def test_an_upload_is_called_as_its_file_and_a_comparison_that_needs_it_says_when_it_is_gone():
    name = uploads.keep(arrays(), "mine.npz")
    assert entry("uploads").title == "mine.npz" and entry("uploads").parameters == {"data": [name]}
    comparisons.save("On mine", "", f"data={name}&s=a")
    assert not entry("comparisons").trouble and SHELVES["uploads"].named_by(name) == 1
    SHELVES["uploads"].delete(name)
    assert not SHELVES["uploads"].entries()
    assert name in entry("comparisons").trouble and "no longer on this machine" in entry("comparisons").trouble


def test_pictures_show_some_of_themselves():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for kind, place in itertools.product(("cat", "dog"), range(4)):
            archive.writestr(f"pets/{kind}/{place}.png", png(place))
    held.seek(0)
    name = uploads.keep(held, "pets.zip")
    sketch = SHELVES["uploads"].sketch(name)
    assert isinstance(sketch, Pictures) and len(sketch.images) == 2
    assert Image.open(io.BytesIO(sketch.images[0])).format == "PNG"


def test_records_show_their_first_words():
    lines = [json.dumps({"prompt": f"Question {place}?", "response": "Yes."}) for place in range(30)]
    record_files.keep("\n".join(lines).encode())
    found = entry("records")
    assert SHELVES["records"].sketch(found.key) == Words("Question 0?")
    SHELVES["records"].delete(found.key)
    assert not SHELVES["records"].entries()


def test_brought_scores_are_listed_under_the_name_of_their_file():
    digest = brought_tables.keep(Table(np.zeros((2, 3)), "", None), "trak.npy")
    assert entry("brought").title == "trak.npy" and entry("brought").parameters == {"brought": [digest]}
    assert SHELVES["brought"].has(digest) and not SHELVES["brought"].has("0" * 64) and not SHELVES["brought"].has("x")
    SHELVES["brought"].delete(digest)
    assert not SHELVES["brought"].entries()


@pytest.mark.parametrize("shelf", ["comparisons", "runs", "uploads", "records", "models", "brought"])
@pytest.mark.parametrize("key", ["../../queue", "", "a/b", "\0", ".."])
def test_a_key_that_is_none_touches_no_file(home, shelf, key):
    home.mkdir(parents=True)
    (home / "queue.json").write_text("mine")
    with pytest.raises(InvalidInput):
        SHELVES[shelf].annotate(key, "Name", "note", "")
    with pytest.raises(InvalidInput):
        SHELVES[shelf].delete(key)
    assert (home / "queue.json").read_text() == "mine"


def test_a_view_of_another_key_or_of_an_endless_address_is_not_kept(home):
    views.seen("../escape", "compare", "s=a")
    views.seen("a" * 64, "compare", "s=" + "a" * 9_000)
    assert not (home / "library").exists()


def test_every_home_has_a_library_of_its_own(tmp_path):
    with at_home(tmp_path / "ann"):
        comparisons.save("Hers", "", "s=a")
        notes.write("runs", "a", "note", "tag")
    with at_home(tmp_path / "bob"):
        assert not SHELVES["comparisons"].entries() and not notes.written("runs")


def png(shade):
    buffer = io.BytesIO()
    Image.new("L", (9, 7), 20 * shade).save(buffer, "PNG")
    return buffer.getvalue()
