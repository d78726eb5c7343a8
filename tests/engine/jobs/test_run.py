"""Jobs without a queue: chunks, resumption, progress and the time that is left."""

import errno
import time

import numpy as np
import pytest

import engine.store.sealed
from engine.basics.errors import Cancelled, InvalidInput, StoreError
from engine.basics.noted import note
from engine.basics.resident import peak_resident
from engine.jobs import KINDS, Bar, JobKind, Ledger, Output, Took, Watch, job_digest, run_job, time_left
from engine.jobs import bar as jobs_bar
from engine.jobs.executor import ChunkWork
from engine.jobs.kinds import Progress
from engine.store.results import Store
from tests.engine.jobs.kinds import plan, tally


class Recorder(Watch):
    def __init__(self, stop_after=None):
        self.seen, self.stop_after = [], stop_after

    def report(self, progress):
        self.seen.append(progress)

    def check(self):
        if self.seen and self.seen[-1].done == self.stop_after:
            raise Cancelled("Stopped.")


@pytest.fixture
def payload(tmp_path):
    return {"chunks": 4, "tally": str(tmp_path / "tally"), "mended": str(tmp_path / "mended")}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "home"


def test_a_job_runs_once(root, payload):
    watch = Recorder()
    result = run_job("slow", payload, root, watch=watch)
    np.testing.assert_array_equal(result.array("scores")[:, 0, 0], [0, 1, 2, 3])
    assert result.digest == job_digest("slow", payload) and result.manifest["payload"] == payload
    assert {"versions", "wall_seconds", "seeds", "device", "written"} <= set(result.manifest)
    assert not list((root / "chunks").iterdir())
    assert run_job("slow", payload, root).manifest == result.manifest
    assert tally(payload) == ["0", "1", "2", "3", "finish"]
    assert [p.done for p in watch.seen] == sorted(p.done for p in watch.seen) and watch.seen[-1].share == 1.0
    assert watch.seen[-1].seconds_left == 0.0 and watch.seen[0].seconds_left is None


@pytest.mark.slow
def test_the_most_memory_of_a_run_is_that_of_its_processes(root, payload):
    with pytest.raises(Cancelled):
        run_job("slow", payload, root, watch=Recorder(stop_after=2))
    before = peak_resident()
    held = np.ones(1 + before // 8)  # so that this process holds more than ever before
    assert held.all()
    found = run_job("slow", payload, root).manifest["peak_resident_bytes"]
    assert before < held.nbytes < found <= peak_resident()


def test_a_cancelled_job_goes_on(root, payload):
    with pytest.raises(Cancelled):
        run_job("slow", payload, root, watch=Recorder(stop_after=2))
    assert tally(payload) == ["0", "1"]
    watch = Recorder()
    run_job("slow", payload, root, watch=watch)
    assert tally(payload) == ["0", "1", "2", "3", "finish"]
    assert watch.seen[0].done == 2 and watch.seen[0].seconds_left is not None


def test_cancelled_within_a_chunk(root, payload):
    class Impatient(Watch):
        calls = 0

        def check(self):
            self.calls += 1
            if self.calls > 5:
                raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        run_job("slow", {**payload, "stops_at": 1}, root, watch=Impatient())
    assert tally(payload) == ["0", "stuck1"]


def test_a_failing_chunk_keeps_the_others(root, payload, tmp_path):
    broken = {**payload, "fails_at": 2}
    for _ in range(2):
        with pytest.raises(InvalidInput, match="mend it"):
            run_job("slow", broken, root)
    (tmp_path / "mended").touch()
    run_job("slow", broken, root)
    assert tally(payload) == ["0", "1", "2", "3", "finish"]


def test_damaged_chunks_are_computed_again(root, payload):
    with pytest.raises(Cancelled):
        run_job("slow", payload, root, watch=Recorder(stop_after=3))
    first, second, third = sorted((root / "chunks").glob("*/*"), key=lambda path: path.stat().st_mtime_ns)
    (first / "facts.parquet").write_bytes(b"PAR1")
    (second / "manifest.json").write_bytes((third / "manifest.json").read_bytes())
    run_job("slow", payload, root)
    assert tally(payload) == ["0", "1", "2", "0", "1", "3", "finish"]
    assert len(list((root / "set-aside").iterdir())) == 2


def test_a_damaged_result_is_computed_again(root, payload):
    result = run_job("slow", payload, root)
    (Store(root).folder(result.digest) / "facts.parquet").write_bytes(b"")
    assert run_job("slow", payload, root).table("facts")["seed"].tolist() == [0, 1, 2, 3]
    assert tally(payload).count("finish") == 2


def test_full_disk_keeps_what_is_finished(root, payload, monkeypatch):
    real = engine.store.sealed.write_synced

    def full(path, content):
        if tally(payload) == ["0", "1", "2"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(engine.store.sealed, "write_synced", full)
    with pytest.raises(StoreError, match="disk is full"):
        run_job("slow", payload, root)
    monkeypatch.undo()
    run_job("slow", payload, root)
    assert tally(payload) == ["0", "1", "2", "2", "3", "finish"]


def test_another_executor_may_work_out_of_order(root, payload):
    class Backwards:
        def run(self, keys, work, ledger):
            yield from ((key, work(key)) for key in reversed(keys))

    run_job("slow", payload, root, executor=Backwards())
    assert tally(payload) == ["3", "2", "1", "0", "finish"]


def test_another_process_may_be_faster(root, payload):
    class Overtaken(Watch):
        def report(self, progress):
            if progress.done == 2 and not Store(root).entries():
                run_job("slow", payload, root)

    result = run_job("slow", payload, root, watch=Overtaken())
    assert result == run_job("slow", payload, root) and tally(payload).count("finish") == 1
    assert not list((root / "chunks").iterdir())


def test_a_chunk_that_another_process_stored_meanwhile_is_not_computed(root, payload):
    class Helped(Watch):
        def report(self, progress):
            if progress.done == 1 and len(tally(payload)) == 1:
                ChunkWork(KINDS["slow"], payload, root)(plan(payload)[2])

    run_job("slow", payload, root, watch=Helped())
    assert tally(payload) == ["0", "2", "1", "3", "finish"]


@pytest.mark.parametrize(("plan", "output", "said"), [
    (["a", "a"], {}, "plans a chunk twice"),
    (["a"], [1], "returned list"),
])
def test_kinds_that_are_wrong(root, plan, output, said):
    KINDS.add("wrong", JobKind("wrong", lambda p: plan, lambda p, k, c: output, lambda p, c, x: {}), replace=True)
    with pytest.raises(InvalidInput, match=said):
        run_job("wrong", {}, root)
    KINDS.remove("wrong")


def test_unknown_kind_and_payloads(root):
    with pytest.raises(InvalidInput, match="no job kind `slwo`; did you mean `slow`"):
        run_job("slwo", {}, root)
    with pytest.raises(InvalidInput, match="JSON cannot represent"):
        run_job("slow", {"x": float("inf")}, root)
    with pytest.raises(InvalidInput, match="JSON cannot represent"):
        run_job("slow", {"x": object()}, root)


def test_a_job_without_chunks(root):
    KINDS.add("empty", JobKind("empty", lambda p: [], lambda p, k, c: {}, lambda p, c, x: Output()), replace=True)
    assert run_job("empty", {}, root).manifest["kind"] == "empty"
    KINDS.remove("empty")


def test_time_left_by_hand():
    assert time_left(10.0, 2.0, 6.0) == 30.0
    assert time_left(0.0, 0.0, 8.0) is None and time_left(0.0, 0.0, 0.0) == 0.0
    watch = Recorder()
    ledger = Ledger({"light": 1.0, "heavy": 9.0}, watch)
    ledger.recall("light", Took(3.0))
    ledger.begin("heavy")
    assert watch.seen[-1].seconds_left == 27.0 and watch.seen[-1].share == 0.1
    ledger.update("heavy", 0.5, "half way")
    assert watch.seen[-1].share == 0.55 and watch.seen[-1].message == "half way"
    ledger.finish("heavy", Took(30.0))
    assert watch.seen[-1].seconds_left == 0.0 and watch.seen[-1].done == 2


def test_what_lay_there_is_done_and_says_nothing_of_the_pace():
    watch = Recorder()
    ledger = Ledger({"trained": 50.0, "resumed": 20.0, "left": 30.0}, watch)
    ledger.begin("trained")
    ledger.update("trained", 1.0, stored=1.0)
    ledger.finish("trained", Took(0.5, stored=1.0))
    assert watch.seen[-1].share == 0.5 and watch.seen[-1].seconds_left is None
    ledger.begin("resumed")
    ledger.update("resumed", 0.5, stored=0.5)
    assert watch.seen[-1].share == 0.6 and watch.seen[-1].seconds_left is None
    ledger.finish("resumed", Took(100.0, stored=0.5))
    assert watch.seen[-1].seconds_left == pytest.approx(300.0)  # ten seconds for each of its ten, and thirty are left
    assert ledger.spent == 100.5 and ledger.stored == pytest.approx(60 / 70)
    ledger.begin("left")
    ledger.update("left", 1 / 3, stored=1 / 3 - 1e-12)  # a sum of parts
    assert watch.seen[-1].seconds_left == pytest.approx(200.0)


def test_what_will_be_found_is_not_left():
    watch = Recorder()
    ledger = Ledger({"computed": 10.0, "trained": 50.0, "measured": 40.0}, watch)
    ledger.expect("trained", 1.0)
    ledger.expect("measured", 0.75)
    ledger.begin("computed")
    ledger.finish("computed", Took(20.0))
    assert watch.seen[-1].share == 0.1 and watch.seen[-1].seconds_left == 20.0  # two seconds for each of the last ten
    ledger.begin("trained")
    ledger.update("trained", 0.6, stored=0.6)
    assert watch.seen[-1].share == 0.4 and watch.seen[-1].seconds_left == 20.0
    ledger.finish("trained", Took(0.5, stored=1.0))
    ledger.begin("measured")
    ledger.update("measured", 0.75, stored=0.75)
    assert watch.seen[-1].share == 0.9 and watch.seen[-1].seconds_left == pytest.approx(20.0)


def test_a_kind_tells_what_lies_on_disk_of_the_chunks_ahead(root):
    asked = []

    def on_disk(payload, key, context):
        asked.append((key, context.device))
        return 1.0 if key == "c" else 0.0

    KINDS.add("ahead", JobKind("ahead", lambda _: list("abc"), lambda *_: {}, lambda *_: Output(), on_disk=on_disk))
    watch = Recorder()
    run_job("ahead", {}, root, options={"device": "meta"}, watch=watch)
    KINDS.remove("ahead")
    assert asked == [("b", "meta"), ("c", "meta")]  # the first one begins at once, and tells it itself
    left = {seen.done: seen.seconds_left for seen in watch.seen}
    assert left[1] > 0 == left[2]


def test_a_chunk_says_what_lay_there(root, finding_kind):
    watch = Recorder()
    assert run_job("finds", {}, root, watch=watch).manifest["found_fraction"] == 0.75
    before = [p for p in watch.seen if p.done < 2]
    assert [p.seconds_left for p in before if p.message == "b"] == [None]  # all of `a` lay there
    half, later = (p for p in before if p.message.startswith("at "))
    assert (half.share, half.seconds_left) == (0.75, None) and later.share == 0.875 and later.seconds_left > 0
    with pytest.raises(Cancelled):
        run_job("finds", {"another": True}, root, watch=Recorder(stop_after=1))
    watch = Recorder()
    assert run_job("finds", {"another": True}, root, watch=watch).manifest["found_fraction"] == 0.75
    assert watch.seen[0].share == 0.5 and watch.seen[0].seconds_left is None  # of the stored chunk too


@pytest.fixture
def finding_kind():
    """A kind of two chunks: all of the first lay there, and half of the second."""
    def run_chunk(payload, key, context):
        context.progress(0.0, "loading")
        if key == "a":
            context.progress_stored(1.0)
        else:
            context.progress_stored(0.5, "at a half")
            time.sleep(0.01)
            context.progress(0.75, "at three quarters")
        return {}

    KINDS.add("finds", JobKind("finds", lambda payload: ["a", "b"], run_chunk, lambda *_: Output()))
    yield
    KINDS.remove("finds")


def test_bar(root, payload, capsys):
    with Bar("Table A-6", terminal=True) as bar:
        run_job("slow", payload, root, watch=bar)
    assert "Table A-6" in (shown := capsys.readouterr().err) and "4/4" in shown


def test_a_log_gets_a_line_a_minute_and_nothing_of_what_is_done_sooner(capsys, monkeypatch):
    seconds = iter([0.0, 30.0, 61.0, 100.0, 3700.0])
    monkeypatch.setattr(jobs_bar.time, "monotonic", lambda: next(seconds))
    with Bar("Table A-7", terminal=False) as bar:
        for done in (1, 2, 3, 4):
            bar.report(Progress(done, 8, done / 8, 90.0 * (8 - done), f"training {done}"))
    assert capsys.readouterr().err.splitlines() == ["Table A-7  25%, 2/8 [01:01, 09:00 left, training 2]",
                                                    "Table A-7  50%, 4/8 [1:01:40, 06:00 left, training 4]"]


@pytest.fixture
def noting_kinds():
    """A kind whose chunks note what they are told to, and one that runs the first within its own."""
    def within(payload, key, context):
        run_job("notes", payload["inner"], context.store.root)
        return {}

    KINDS.add("notes", JobKind("notes", lambda payload: ["a", "b"],
                               lambda payload, key, context: note(*payload[key]) or {}, lambda *_: Output()))
    KINDS.add("outer", JobKind("outer", lambda payload: ["one"], within, lambda *_: Output()))
    yield
    KINDS.remove("notes")
    KINDS.remove("outer")


@pytest.mark.usefixtures("noting_kinds")
def test_the_manifest_says_in_which_precision_any_chunk_trained(root):
    asked = {"a": ["float32"], "b": ["bfloat16 (measured gain 4.8)"]}
    both = ["bfloat16 (measured gain 4.8)", "float32"]
    with pytest.raises(Cancelled):
        run_job("notes", asked, root, watch=Recorder(stop_after=1))
    assert run_job("notes", asked, root).manifest["passes"] == both
    assert run_job("outer", {"inner": asked}, root).manifest["passes"] == both, "a stored result says it too"
    assert "passes" not in run_job("notes", {"a": [], "b": []}, root).manifest
