"""Scores as other libraries write them to disk, of a tiny problem: what `tests/engine/external/written` holds."""

from __future__ import annotations

import io
import json
import subprocess
import zipfile
from pathlib import Path

from engine.external.score_recipes import SCORE_RECIPES
from tests.engine.problems_for_tests import problem

TEMPORARY = "with tempfile.TemporaryDirectory() as folder:"
WRITES = {
    "captum": ([], "torch.save(scores, 'captum.pt')\ntorch.save(tracin.self_influence(), 'captum_self.pt')\n"),
    "kronfluence": ([(TEMPORARY, "for folder in ['by_kronfluence']:")], ""),
    "trak": ([(TEMPORARY, "for folder in ['by_trak']:")], ""),
    "dattri": ([("max_iter=200", "max_iter=9")], "torch.save(scores, 'dattri.pt')\n"),  # 9 parameters: then 0/0
    "pydvl": ([], "np.save('pydvl.npy', scores.detach().numpy())\n")}
"""Program -> what of its recipe's script is replaced, so that the files of the library stay, and how its users save
what it returns."""
FILES = {"captum": ("captum.pt", "captum_self.pt"), "dattri": ("dattri.pt",), "pydvl": ("pydvl.npy",),
         "kronfluence": ("by_kronfluence/study/scores_pairwise/pairwise_scores.safetensors",),
         "trak": ("by_trak/scores/queries.mmap",), "dattri_llm": ("dattri_llm.npy",),
         **dict.fromkeys(("bergson", "bergson_gradients", "bergson_magic"),
                         ("run/scores/info.json", "run/scores/scores.bin"))}
LLAMA = r"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = "red green blue round square flat sky grass wheel table is a the like".split()
words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(["<eos>", "<unk>", *WORDS])}, "<unk>"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(
    tokenizer_object=words, eos_token="<eos>", pad_token="<eos>", unk_token="<unk>",
    chat_template="{% for m in messages %}{{ m.content }} {% endfor %}").save_pretrained("model")
torch.manual_seed(0)
made = LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS) + 2, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
                                    num_attention_heads=2, max_position_embeddings=64, eos_token_id=0, pad_token_id=0,
                                    bos_token_id=0, initializer_range=0.3))
made.save_pretrained("model")
draw = np.random.default_rng(0)
for name, count in (("train", 24), ("queries", 4)):
    rows = [{"prompt": " ".join(draw.choice(WORDS, 4)), "completion": " ".join([*draw.choice(WORDS, 2), "<eos>"])}
            for _ in range(count)]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
"""
"""Programs for language models score one of one layer, made here, for 4 records of 24."""
COLUMNS = {"prompt_column": "prompt", "completion_column": "completion"}


def _index(run: str, records: str) -> dict:
    return {"run_path": run, "model": "./model", "precision": "fp32", "token_batch_size": 64,
            "data": {"dataset": records, **COLUMNS}, "distributed": {"nproc_per_node": 1}}


BERGSON = {
    "bergson": [{"ekfac": {
        "index_cfg": _index("run", "train.jsonl"), "score_cfg": {}, "preprocess_cfg": {},
        "hessian_cfg": {"method": "kfac", "ev_correction": True, "use_dataset_labels": True},
        "hessian_pipeline_cfg": {"query": {"dataset": "queries.jsonl", "aggregation": "none", **COLUMNS}}}}],
    "bergson_gradients": [
        {"build": {"index_cfg": _index("run/query", "queries.jsonl"), "preprocess_cfg": {}}},
        {"score": {"index_cfg": _index("run/scores", "train.jsonl"), "preprocess_cfg": {},
                   "score_cfg": {"query_path": "run/query"}}}],
    "bergson_magic": [{"magic": {
        **{name: value for name, value in _index("run", "train.jsonl").items() if name != "token_batch_size"},
        "optimizer": "sgd", "adam_beta1": 0.95, "weight_decay": 0.0, "batch_size": 24, "num_epochs": 3,
        "lr_schedule": {"lr": 0.5, "lr_scheduler_type": "constant"}, "save_mode": "all",
        "query": {"dataset": "queries.jsonl", "aggregation": "none", **COLUMNS}}}]}
"""What bergson computes, by the name of the folder in `written`: EK-FAC, products of gradients, and MAGIC on three
steps on all records, with momentum by the name of Adam's."""
RUN_BERGSON = """
subprocess.run([Path(sys.executable).with_name("bergson"), "./config.yaml"], check=True,
               env={**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""})
"""
DATTRI_LLM = """
from dattri_llm.attribution.algorithm import TracInAttributor
from dattri_llm.attribution.arguments import AttributionArguments
from dattri_llm.gradient.hooks import HookManagerConfig
from dattri_llm.task import AttributionTask
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("model")


def rows(name):
    for one in map(json.loads, Path(name).read_text().splitlines()):
        ids = torch.tensor(tokenizer(f"{one['prompt']} {one['completion']}")["input_ids"])
        yield {"input_ids": ids, "labels": ids.where(torch.arange(len(ids)) >= len(one["prompt"].split()), -100)}


one_by_one = AttributionArguments(output_dir="run", per_device_train_batch_size=1, per_device_eval_batch_size=1)
tracin = TracInAttributor(one_by_one, task=AttributionTask(None, LlamaForCausalLM.from_pretrained("model").float()))
scores = tracin.attribute(list(rows("train.jsonl")), list(rows("queries.jsonl")),
                          hook_config=HookManagerConfig(linear_io=["_proj$"]))
np.save("dattri_llm.npy", scores.agnostic_matrix()[1].numpy())
"""


def tiny():
    """12 training examples, 4 queries, 3 classes."""
    return problem(n=12, d=3, classes=3, queries=4)


def write(name: str, python: Path | str, folder: Path) -> list[Path]:
    """Run a library in an environment of its own; returns the files that it wrote. Raises `CalledProcessError`."""
    if name in BERGSON:
        script = folder / "write.py"
        script.write_text(LLAMA + RUN_BERGSON)
        (folder / "config.yaml").write_text(json.dumps({"steps": BERGSON[name]}))
    elif name == "dattri_llm":
        script = folder / "write.py"
        script.write_text(LLAMA + DATTRI_LLM)
    else:
        with zipfile.ZipFile(io.BytesIO(SCORE_RECIPES[name].packed(tiny(), "softmax"))) as archive:
            archive.extractall(folder)
        script = folder / SCORE_RECIPES[name].file
        text, (replaced, more) = script.read_text("utf-8"), WRITES[name]
        for before, after in replaced:
            assert before in text
            text = text.replace(before, after)
        script.write_text(f"{text}\n{more}", "utf-8")
    subprocess.run([python, script.name], cwd=folder, check=True, capture_output=True, text=True, timeout=500)
    return [folder / file for file in FILES[name]]
