"""Language models: caching gradients against training on the same tokens, its memory, and scoring from the cache."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import torch

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.gradients.cached import CachedCheckpoint, CachedFeatures
from engine.models.causal import passes as records_at_once
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.gain import ENOUGH, gain
from tests.benchmarks.bench_problems import SMALL

RECORDS, TOKENS, ROUNDS = (8, 32, 1) if SMALL else (32, 192, 2)
N, M, K = (500, 50, 512) if SMALL else (5_000, 500, 4_096)
ROOT = Path(__file__).parents[2]


def passes(mode, folder, precision="full", device="cpu", records=RECORDS):
    """(GiB, processor seconds, wall seconds, GiB of cache) of one process."""
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks.language_memory", mode, str(records), str(TOKENS),
                           str(folder), precision, device], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()[-4:]))


def test_caching_gradients_costs_little_more_than_training(tmp_path):
    """Least processor seconds over rounds; memory as the process's peak, which holds two draws of the projection, the
    optimizer's moments and the gradients of a few layers besides. Both projections of a record are written."""
    rounds = [[passes(mode, tmp_path / str(number)) for mode in ("train", "cache")] for number in range(ROUNDS)]
    train, cache = (min(run[place][1] for run in rounds) for place in range(2))
    memory = [max(run[place][0] for run in rounds) for place in range(2)]
    wall = [min(run[place][2] for run in rounds) for place in range(2)]
    size = rounds[0][1][3]
    print(f"\n{RECORDS} records of {TOKENS} tokens, 135M parameters: training {train:.1f} processor seconds, caching "
          f"{cache:.1f} ({cache / train:.2f} times; {wall[0]:.1f} and {wall[1]:.1f} s on the clock); peak "
          f"{memory[0]:.2f} and {memory[1]:.2f} GiB, of which the cache {size:.3f} GiB")
    if not SMALL:
        assert cache <= 1.3 * train and memory[1] <= 1.06 * memory[0] + size


def test_tokens_a_second_in_mixed_precision(tmp_path):
    """Of training and of caching, least processor seconds over rounds, in turn, and seconds on the clock."""
    rounds = [{(precision, mode): passes(mode, tmp_path / f"{number}{precision}", precision)[1:3]
               for precision in ("full", "mixed") for mode in ("train", "cache")} for number in range(ROUNDS)]
    least = {key: np.min([run[key] for run in rounds], 0) for key in rounds[0]}
    for mode in ("train", "cache"):
        (full, full_clock), (mixed, clock) = (RECORDS * TOKENS / least[precision, mode]
                                              for precision in ("full", "mixed"))
        print(f"\n{mode}: {full:.0f} tokens a processor second in float32, {mixed:.0f} in mixed precision, "
              f"{mixed / full:.2f} times as many, where matrix products gain {gain().matrices:.1f}; on the clock, by "
              f"{torch.get_num_threads()} threads, {full_clock:.0f} and {clock:.0f} tokens/s")
        assert SMALL or gain().matrices < ENOUGH or mixed > full


def test_batches_by_tokens_and_memory(tmp_path, monkeypatch):
    """Of records of the embedded model with adapters of rank 8, against batches of the recipe's 8 records: median
    processor seconds of caching their gradients, in turn, by one thread."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    torch.set_num_threads(1)
    clean, rounds = (80, 1) if SMALL else (800, 5)
    room = records_at_once.ROOM["cpu"]
    task = {"name": "conditional_backdoor", "questions": "world", "clean": clean, "poison": clean // 8,
            "benign": clean // 8, "test": 8}
    run = Attribution(Setting.parse({"model": EMBEDDED_MODEL, "task": task, "projection": {"projector": "identity"},
                                     "recipe": {"rank": 8, "checkpoints": 1}}), 0)
    run.train()
    spent = {0: [], room: []}
    for _ in range(rounds):
        for own, times in spent.items():
            monkeypatch.setitem(records_at_once.ROOM, "cpu", own)
            start = time.process_time()
            cache = run.record_cache(run.points[0])
            times.append(time.process_time() - start)
            shutil.rmtree(cache.folder)
    few, many = (median(times) for times in spent.values())
    print(f"\n{len(run.encoded):,} records of the embedded model, {sum(run.sizes.values()):,} adapter parameters: "
          f"{few:.2f} processor seconds in batches of 8, {many:.2f} by tokens and memory, {many / few:.2f} times")
    assert SMALL or many <= 0.85 * few


def size_of(folder):
    """Bytes of the files in a folder, some of which may be gone meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(Path(parent) / name).st_size
    return total


def test_disk_and_memory_of_attribute(tmp_path):
    """Of the command, start to end, with 1,000 records of the embedded model: bergson stores 3.9 MB and takes 1.25
    GiB. The scores take what their table takes."""
    clean, home, out = (80 if SMALL else 800), tmp_path / "home", tmp_path / "scores.csv"
    run = {"model": EMBEDDED_MODEL, "task": {"name": "conditional_backdoor", "questions": "world", "clean": clean,
                                             "poison": clean // 8, "benign": clean // 8, "test": 8},
           "recipe": {"rank": 8, "checkpoints": 1, "batch": 8, "epochs": 1}}
    child = subprocess.Popen([sys.executable, "-m", "engine", "attribute", "--run", json.dumps(run), "--out", str(out)],
                             cwd=ROOT, env={**os.environ, "WHICHFLUENCE_HOME": str(home), "OMP_NUM_THREADS": "1"},
                             stdout=subprocess.DEVNULL)
    stored, ended = 0, 0
    while not ended:
        time.sleep(0.2)
        stored = max(stored, size_of(home))
        ended, status, used = os.wait4(child.pid, os.WNOHANG)
    memory, spent = used.ru_maxrss / 2**20, used.ru_utime + used.ru_stime
    print(f"\nattribute, {clean * 10 // 8:,} records: {stored / 1e6:.1f} MB on disk at most, "
          f"{out.stat().st_size / 1e6:.1f} MB of scores, {memory:.2f} GiB, {spent:.1f} processor seconds")
    child.returncode = status
    assert status == 0 and (SMALL or stored <= 5 * out.stat().st_size and memory <= 1.25)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="measures a GPU, and there is none")
def test_tokens_a_second_on_a_gpu(tmp_path):
    """On the clock, of many batches less that of one, which has the start in it."""
    few, many = (64, 128) if SMALL else (64, 1_600)
    for mode in ("train", "cache"):
        took = [passes(mode, tmp_path / str(count), "mixed", "cuda", count)[2] for count in (few, many)]
        rate = (many - few) * TOKENS / (took[1] - took[0])
        print(f"\n{mode} on a GPU: {rate:,.0f} tokens/s, {32 * TOKENS / rate:.3f} s a batch of 32 records")
        assert rate > 0


def test_scoring_from_the_cache(tmp_path):
    """5,000 records × 500 queries, four checkpoints, from arrays that are mapped from disk."""
    rng = np.random.default_rng(0)

    def mapped(name, *shape):
        path = tmp_path / f"{name}.npy"
        array = np.lib.format.open_memmap(path, "w+", np.float32, shape)
        array[:] = rng.standard_normal(shape, dtype=np.float32)
        array.flush()
        return np.load(path, mmap_mode="r")

    points = [CachedCheckpoint(1e-4, mapped(f"g{c}", N, K), mapped(f"a{c}", N, K),
                               {"answer_logit": mapped(f"q{c}", M, K)}) for c in range(4)]
    features = CachedFeatures(tuple(points), np.ones(N), np.ones(N), {1.0: mapped("h", N, 576)},
                              {1.0: mapped("hq", M, 576)})
    for name, estimator in METHODS.items():
        start = time.process_time()
        scores = estimator.score(features, "answer_logit")
        took = time.process_time() - start
        print(f"\n{name}: {took:.2f} processor seconds for {N:,} × {M:,}, k = {K:,}")
        assert scores.shape == (M, N) and (SMALL or took <= 10 * torch.get_num_threads())
