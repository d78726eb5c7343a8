"""Recipes: how another program computes scores of a problem, as a script that runs as it stands beside two npz files.

The scripts lie in `assets/recipes`, one a program, with a mark where the lines go that rebuild the model. A new one is
one file there and one line here.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from engine.basics.errors import MissingData
from engine.basics.registry import Registry
from engine.external.rebuilt import PROBLEM, WEIGHTS, Rebuilt, problem_npz, rebuilt
from engine.problems import Problem
from engine.question.specification import Specification
from engine.scoring.scoring import Scoring

FOLDER = Path(__file__).parents[2] / "assets" / "recipes"
CLAIM, DATED = "claim.json", (2026, 1, 1, 0, 0, 0)
MARK = "# problem\n"
READ = f'''\
problem, weights = np.load("{PROBLEM}"), np.load("{WEIGHTS}")
module.load_state_dict({{name: torch.as_tensor(weights[name]) for name in weights}})
module.eval()
candidates = problem["candidates"]  # rows of x_train


def dataset(x, y):
    inputs = torch.as_tensor(problem[x], dtype=torch.float32).reshape(-1, *shape)
    return TensorDataset(inputs, torch.as_tensor(problem[y], dtype=torch.int64))


train, queries = dataset("x_train", "y_train"), dataset("x_query", "y_query")
'''


@dataclass(frozen=True)
class ScoreRecipe:
    """One way to compute scores with another program.

    name: of the file in `assets/recipes`; title: of the program; package: what `pip install` calls it; url: where it
    is at home; method: what it computes; claim: the exact scoring whose question the scores answer, where a larger one
    supports the behavior; note: a sentence on what it takes or leaves out.
    """

    name: str
    title: str
    package: str
    url: str
    method: str
    claim: Scoring
    note: str

    @property
    def written(self) -> str:
        """The file that the script writes: `scores` (m, k) and `candidates` (k,)."""
        return f"{self.name}.npz"

    @property
    def file(self) -> str:
        """What the script is called: not as the package, which it would hide."""
        return f"with_{self.name}.py"

    def script(self, model: Rebuilt) -> str:
        """The program for one problem. Raises `MissingData` where its file is gone."""
        try:
            text = (FOLDER / f"{self.name}.py").read_text("utf-8")
        except OSError:
            raise MissingData(f"The script of {self.title} is missing; restore assets/recipes from a fresh copy of "
                              "Whichfluence.") from None
        imports, body = text.split(MARK)
        facts = {"layers": list(model.layers), "parameters": list(model.parameters), "damping": model.damping}
        said = [f"{name} = {value!r}{WORDS[name]}" for name, value in facts.items() if re.search(rf"\b{name}\b", body)]
        return imports + "\n".join([*model.lines, *said, f"shape = {model.shape!r}  # of one input", READ]) + body

    def packed(self, problem: Problem, model: str) -> bytes:
        """A zip of all that it takes: the script, the two npz files, and claim.json for `bring`. model: as `rebuilt`
        takes it, which says what is raised."""
        made = rebuilt(problem, model)
        files: dict[str, str | bytes] = {self.file: self.script(made), CLAIM: claim_json(self.claim.specification),
                                         PROBLEM: problem_npz(problem), WEIGHTS: made.weights_npz()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name, DATED), content, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()


def claim_json(claimed: Specification) -> str:
    """A claim as `bring` reads it: the specification alone."""
    return json.dumps(claimed.model_dump(mode="json", include=set(Specification.model_fields)))


WORDS = {"layers": "  # whose parameters count", "parameters": "  # that count",
         "damping": "  # the l2 of the objective, which adds it to the Hessian"}

INFLUENCE = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
SCORE_RECIPES: Registry[ScoreRecipe] = Registry("recipe", (
    ScoreRecipe("captum", "captum", "captum", "https://captum.ai", "TracIn with one checkpoint",
                Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}),
                "One checkpoint, the factual model: the first-order term of one step."),
    ScoreRecipe("trak", "TRAK", "traker", "https://trak.csail.mit.edu", "TRAK of one model",
                Scoring.of("soft_margin", {"kind": "remove"}, {"kind": "retrain"}),
                "One model, 512 projections: with few training examples its agreement with retraining is low."),
    ScoreRecipe("kronfluence", "kronfluence", "kronfluence", "https://github.com/pomonam/kronfluence", "EK-FAC",
                INFLUENCE,
                "Supports linear and convolutional layers; the Fisher matrix replaces the Hessian."),
    ScoreRecipe("dattri", "dattri", "dattri", "https://github.com/TRAIS-Lab/dattri",
                "influence functions by conjugate gradients", INFLUENCE,
                "For a network, select the last layer: its full Hessian is not positive definite, so conjugate "
                "gradients do not solve the system."),
    ScoreRecipe("pydvl", "pyDVL", "pyDVL[influence]", "https://pydvl.org",
                "influence functions by conjugate gradients", INFLUENCE,
                "Needs NumPy below 2, so its own environment. For a network, select the last layer: its full Hessian "
                "is not positive definite, so conjugate gradients do not solve the system."),
))
