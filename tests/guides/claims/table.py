"""The table of claims: what guides, README and pages say of a method or give as a number, and what proves it.

`claims.txt` has blocks: a line `@ FILE | EVIDENCE`, and below it the claims, one a line, as they stand in the file (of
a guide without addresses of links and line breaks, of a page with `…` where a value is put in). EVIDENCE is one of

    holds NAME       the predicate NAME of `predicates`: reads published results, and gives whether the claim holds, or
                     the numbers that it prints, in their order
    test PATH::NAME  a test that computes what is said
    exempt REASON    no claim about a method: REASON is one of `REASONS`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.guides.claims.scan import ROOT

TABLE = Path(__file__).with_name("claims.txt")
REASONS = {
    "meaning": "says what a word, a measure, an option or a file means, or what an order on the page is",
    "rule": "says what the program does or refuses; tests of that part hold it",
    "formula": "a formula, or what follows from one in a line",
    "history": "what was tried before something was published; there is no file that could be read again",
    "timing": "a time or a size that was measured once on the machine that is named; `make bench`, `make load` measure",
    "advice": "tells the reader what to do or to look at, and claims nothing of how it turns out",
    "question": "asks the reader, or offers an answer to choose",
    "template": "the value is computed where it is shown, and is no part of the sentence",
}

LANGUAGE, PICTURES = (f"tests/guides/test_published_{kind}.py::" for kind in ("language", "pictures"))
LABELS = "estimator | trusted loss | target logit | hard margin"
TABLES = {
    "method | replay, own run | replay, other runs | leave-one-out, own run | leave-one-out, other runs":
        f"test {LANGUAGE}test_agreement_with_exact_answers_about_a_training",
    "method | `weights`, own | `weights`, other | `subset`, own | `subset`, other | `seeds`, own | `seeds`, other":
        f"test {LANGUAGE}test_the_published_lds_of_three_protocols",
    "name | in the literature | in the authors' code":
        "test tests/truth/test_language_estimators.py::"
        "test_trak_of_the_authors_code_is_an_influence_function_by_the_empirical_fisher",
    "method | own question | leave-one-out | LDS, same seed | LDS, another seed | QLD":
        "test tests/guides/test_published_leaderboard.py::test_every_cell_is_that_of_the_published_board",
    "method | own question | leave-one-out | LDS, same seed | LDS, another seed":
        "test tests/guides/test_published_leaderboard.py::test_every_cell_is_that_of_the_published_board",
    "program | what | here | largest difference, relative to the largest score":
        "test tests/engine/external/test_written.py::test_metagradients_are_bergsons",
    "τ, its whole interval | pairs in the same order | word":
        "test tests/engine/metrics/test_in_words.py::test_the_guide_has_these_ranges_and_words",
    "method | τ, exact step | linear datamodeling score":
        f"test {LANGUAGE}test_agreement_with_the_exact_step_and_with_models_on_subsets",
    "pair | distance | behavior | intervention | process | departures and errors":
        f"test {LANGUAGE}test_shares_of_the_way_between_two_methods",
    "part | operations, 10⁶ | hours | bytes | operations, 10⁹ | hours | bytes":
        "test tests/engine/applications/language/test_at_scale.py::test_the_guide_tells_what_is_counted",
    "comparison | training examples | candidates | Kendall τ | top-5% overlap | sign agreement":
        f"test {PICTURES}test_the_cnn_at_the_desk",
    LABELS: f"test {PICTURES}test_noisy_labels_at_the_papers_scale",
    LABELS.replace("estimator", "method"): f"test {PICTURES}test_noisy_labels_at_the_desk",
    "rate | TracIn, target logit | LiSSA, trusted loss | GradSim, trusted loss":
        f"test {PICTURES}test_rates_of_wrong_labels_at_the_desk",
    "network | learned | TracIn, target logit | LiSSA, trusted loss | GradSim, trusted loss | RepSim":
        f"test {PICTURES}test_networks_at_the_desk",
    "removed by | wrong among the removed | change | against random removal":
        f"test {PICTURES}test_removal_of_pictures_at_the_desk",
    "sought | estimator | response loss | explanation loss | answer logit | answer margin":
        f"test {LANGUAGE}test_corruption_with_smollm2_at_the_desk",
    "sought | estimator | response loss | explanation loss | answer log-probability | answer margin":
        f"test {LANGUAGE}test_corruption_with_long_explanations",
    "removed by | poison among the removed | attack success":
        f"test {LANGUAGE}test_removal_with_the_embedded_model",
    "estimator | response loss | explanation loss | answer logit | answer margin":
        f"test {LANGUAGE}test_poison_found_with_smollm2_at_the_desk",
    "ε | scales held | + no lag | + batches | + EK-FAC | + segments, a flow: SOURCE | its τ":
        "test tests/engine/analysis/test_run_errors.py::test_what_source_costs_under_adamw",
    "names | what is trained | operations | hours at 20 TFLOP/s": "exempt timing",
    "method | 1%, one query | 1%, five | 0.5%, one query | 0.5%, five":
        "test tests/guides/test_published_pictures.py::test_methods_that_find_poisons",
    "method | 2%, one query | 2%, five":
        "test tests/guides/test_published_pictures.py::test_methods_that_find_poisons_with_right_labels",
    "method | one query | five": "test tests/guides/test_published_pictures.py::test_methods_that_find_planted_records",
    "Program | What it computes | Claims | Softmax | Network": "exempt timing",
    "set | confident learning | self-confidence | normalised margin | reweighted refit | self-influence by removal | "
    "recommended | consensus | refit − cleanlab's best":
        f"test {PICTURES}test_methods_that_find_wrong_labels",
    "set | cleanlab's best | reweighted refit | refit and self-influence | recommended | best by hindsight | "
    "cleanlab's best, verified rows | refit, verified rows | right labels":
        f"test {PICTURES}test_what_the_trial_and_verified_rows_add",
    "measured": "exempt timing",
}
"""The head of every table of the guides with decimal numbers -> its evidence, as in `claims.txt`."""


@dataclass(frozen=True)
class Claim:
    """What a file says, and the kind and name of its evidence."""

    file: str
    text: str
    kind: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text[:60]}"


def claims() -> list[Claim]:
    """The whole table."""
    found: list[Claim] = []
    file = kind = evidence = ""
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            file, _, rest = line.removeprefix("@ ").partition(" | ")
            kind, _, evidence = rest.partition(" ")
        elif line.strip():
            found.append(Claim(file, line.strip(), kind, evidence))
    return found


def tests_of(path: Path) -> Iterator[str]:
    """The names of the tests of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name


def exists(evidence: str) -> bool:
    """Whether `PATH::NAME` is a test."""
    path, _, name = evidence.partition("::")
    return (ROOT / path).is_file() and name in tests_of(ROOT / path)
