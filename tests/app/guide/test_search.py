"""The search: what a newcomer types finds its section among the first three, and every term and name has one."""

import pytest

from app.guide import data
from app.guide.search import search, stems
from engine.cli import PANELS
from engine.question.glossary import TERMS
from engine.scoring.named import NAMED
from tests.app.guide.test_data import MADE

GUIDES = [data.read(name) for name in data.GUIDES]
QUERIES = {
    "find mislabelled images": "noisy-labels", "mislabeled data": "mislabelled-examples/arrays-with-wrong-labels",
    "wrong labels": "noisy-labels/how-many-are-wrong", "how do I use my own model": "python/your-own-model-and-data",
    "my own data": "data/bring-your-own-data", "reproduce the paper": "reproducing", "command line": "command-line",
    "jsonl records": "language-models/a-run-of-your-own", "table a6": "reproducing/recompute-a-table",
    "tracin checkpoints": "glossary/tracin", "TRAK": "glossary/trak", "EKFAC": "glossary/ek-fac",
    "influence functions": "glossary/influence-function", "leave one out": "glossary/leave-one-out",
    "LDS": "glossary/linear-datamodeling-score", "kendall tau": "glossary/kendall",
    "what is damping": "glossary/damping", "difference between gradsim and tracin": "glossary/tracin",
    "why do two rankings disagree": "explaining", "cuda": "gpu", "how long does it take on a GPU": "gpu",
    "language model backdoor": "language-models/two-tasks", "poisoned records": "glossary/query-ablation",
    "import captum scores": "other-libraries/from-files-of-scores-to-a-verdict", "kronfluence": "other-libraries",
    "out of memory": "troubleshooting/memory", "shapley values": "glossary/in-run-data-shapley",
    "banzhaf": "command-line/datamodels-and-self-influence", "what does exact mean": "exact",
    "several users on one server": "serving", "login": "serving/sign-in", "classroom": "teaching/before-a-class",
    "add a new estimator": "contributing/add-an-estimator", "self influence": "glossary/self-influence",
    "LoRA finetuning": "own-run/a-fine-tuning-by-transformers", "noise floor": "glossary/noise-floor",
    "one step or the whole training": "which-t/one-step-or-the-whole-training", "agent api": "agents",
    "record my training run": "own-run", "approximation error": "glossary/approximation-error",
    "near duplicates": "noisy-labels/on-the-command-line", "representation similarity": "glossary/repsim",
    "huggingface model": "own-run/a-fine-tuning-by-transformers", "download FashionMNIST": "data/downloaded-datasets",
    "remove examples and retrain": "glossary/leave-one-out", "metagradients": "glossary/replay-metagradient",
    "confident learning cleanlab": "glossary/confident-learning", "grad-dot": "glossary/gradsim",
}


def first(query, count=3):
    """The first sections for a query, as `guide/section`, or `guide` for its introduction."""
    return [f"{one.guide.name}/{one.section.slug}".rstrip("/") for one in search(GUIDES, query)[:count]]


@pytest.mark.parametrize("query", QUERIES)
def test_what_a_newcomer_types_is_among_the_first_three(query):
    assert QUERIES[query] in first(query)


def test_every_section_is_found_by_its_heading():
    headings = [one.heading for guide in GUIDES for one in guide.sections]
    missed = [f"{guide.name}/{one.slug}" for guide in GUIDES for one in guide.sections
              if headings.count(one.heading) == 1 and f"{guide.name}/{one.slug}".rstrip("/") not in first(one.heading)]
    assert not missed


@pytest.mark.parametrize("name", [*TERMS, *(method.title for method in NAMED.values()), *NAMED])
def test_every_term_and_method_is_found_in_the_glossary(name):
    assert any(one.startswith("glossary/") for one in first(name, 6))


def test_every_command_is_found():
    names = [name for panel in PANELS.values() for name in panel]
    assert len(names) > 30
    assert [name for name in names if not any(
        " ".join(stems(name)) in " ".join(stems(one.section.heading + " " + one.section.words))
        for one in search(GUIDES, name)[:3])] == []


def test_headings_come_before_text():
    guide = data.split("made", MADE)
    assert [one.section.slug for one in search([guide], "CAVE")][0] == "wheres-the-cave"
    assert [one.section.slug for one in search([guide], "another link")][0] == "another"
    assert search([guide], "dragon") == [] and search([guide], "  ") == []


def test_an_excerpt_holds_the_word_that_was_searched_for():
    long = data.split("long", "# Long\n\n" + "word " * 100 + "needle " + "word " * 100)
    excerpt = search([long], "needle")[0].excerpt
    assert "needle" in excerpt and excerpt.startswith("… word") and excerpt.endswith("word …") and len(excerpt) < 250
