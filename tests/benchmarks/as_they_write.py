"""Scores as other libraries write them to disk, of a tiny problem: what `tests/engine/external/written` holds."""

from __future__ import annotations

import io
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
         "trak": ("by_trak/scores/queries.mmap",), "bergson": ("bergson/info.json", "bergson/scores.bin")}
BERGSON = """
import numpy as np, torch
from pathlib import Path
from bergson.score.score_writer import MemmapSequenceScoreWriter
scores = torch.as_tensor(np.load("dattri.npz")["scores"])
writer = MemmapSequenceScoreWriter(Path("bergson"), scores.shape[1], scores.shape[0], dtype=torch.bfloat16,
                                   distributed=False)
writer(list(range(scores.shape[1])), scores.T)
writer.flush()
"""
"""bergson computes scores of language models alone: its own writer writes those of another program here."""


def tiny():
    """12 training examples, 4 queries, 3 classes."""
    return problem(n=12, d=3, classes=3, queries=4)


def write(name: str, python: Path | str, folder: Path) -> list[Path]:
    """Run a library in an environment of its own; returns the files that it wrote. Raises `CalledProcessError`."""
    if name == "bergson":
        script = folder / "write.py"
        script.write_text(BERGSON)
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
