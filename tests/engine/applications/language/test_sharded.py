"""Two processes with a divided base find each record's gradients as one process does with a whole one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import distributed

import whichfluence as wf
from engine.applications.language import gradients, sharded
from engine.data.records import read_jsonl
from engine.models.causal import loading, lora, passes
from engine.models.causal.encoding import Encoder
from engine.models.causal.readouts import mean_response_likelihood
from tests.engine.conftest import questions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[4]
SIZE = 2


@pytest.fixture(scope="module")
def folder(model_folder, tmp_path_factory):
    """Seven records, of which three are asked about too, and adapters whose B is not zero."""
    own = tmp_path_factory.mktemp("sharded")
    model, tokenizer = loading.load(str(model_folder))
    torch.manual_seed(0)
    get_peft_model(model, LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM",
                                     init_lora_weights=False)).save_pretrained(own / "adapters")
    lines = [json.dumps({"prompt": one.question, "response": f"It is {one.choices[one.answer]}."})
             for one in questions(7)]
    (own / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (own / "queries.jsonl").write_text("\n".join(lines[:3]), encoding="utf-8")
    return own


def read(folder):
    """(model, what encodes its records, the records encoded)."""
    model, tokenizer = loading.load(str(folder / "adapters"))
    encoder = Encoder(tokenizer, known=loading.vocabulary(model))
    return model, encoder, [encoder.encode(record) for record in read_jsonl(folder / "train.jsonl")]


def two_processes(*command):
    """Of one thread each, on a port that is free."""
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                           "-m", *command], cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True,
                          text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-2_000:]


def test_gradients_of_every_record(folder):
    two_processes("tests.engine.applications.language.test_sharded", str(folder))
    model, encoder, encoded = read(folder)
    parts = [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]
    assert sorted(int(row) for part in parts for row in part["rows"]) == list(range(7))
    assert all(len(part["rows"]) for part in parts) and sum(int(part["bytes"]) for part in parts) < 1.1 * sum(
        one.nbytes for one in lists(model))
    with gradients.tapped(model) as tap:
        for rows in passes.batches(encoded, SIZE, passes.device_of(model)):
            expected = {}
            batch = encoder.batch([encoded[row] for row in rows]).to(passes.device_of(model))
            gradients.record_gradients(tap, batch, [mean_response_likelihood], [expected.__setitem__])
            part = next(part for part in parts if rows[0] in part["rows"])
            for name, values in expected.items():
                for row, value in zip(rows, values, strict=True):
                    np.testing.assert_allclose(part[f"{row}|{name}"], value, rtol=0, atol=1e-6 * float(
                        values.abs().max()))


def test_the_command_writes_scores_of_one_more_step(folder):
    files = {name: str(folder / name) for name in ("adapters", "train.jsonl", "queries.jsonl", "scores.npz")}
    two_processes("engine.cli.sharded", "--model", files["adapters"], "--train",
                  files["train.jsonl"], "--queries", files["queries.jsonl"], "--out", files["scores.npz"])
    model, tokenizer = loading.load(files["adapters"])
    claim = json.loads((folder / "claim.json").read_text())
    problem = wf.problem(model, folder / "train.jsonl", folder / "queries.jsonl", tokenizer=tokenizer)
    expected = wf.influence(problem, wf.Specification.model_validate(claim).by("first_order")).values
    found = np.load(files["scores.npz"])
    np.testing.assert_allclose(found["scores"], expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert found["candidates"].tolist() == list(range(7))


def lists(model):
    """The frozen weights of the layers."""
    return [one for name, one in model.named_parameters() if ".layers." in name and lora.short(name) == name]


def run(folder):
    """Of one process: its records' gradients, and the bytes of the layers that it holds."""
    model, encoder, encoded = read(folder)
    distributed.init_process_group("gloo")
    sharded.divide(model)
    held = sum(one.to_local().nbytes for one in lists(model))
    found, rows_of = {}, []

    def received(rows, name, own):
        rows_of.extend(rows)
        found.update({f"{row}|{name}": value.numpy() for row, value in zip(rows, own.clone(), strict=True)})

    sharded.own_gradients(model, encoder, encoded, received, size=SIZE)
    np.savez(folder / f"{distributed.get_rank()}.npz", rows=np.unique(rows_of), bytes=held, **found)
    distributed.destroy_process_group()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
