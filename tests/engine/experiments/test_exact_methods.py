"""The methods that are held beside exact references are named methods, over the checkpoints that its recipe keeps."""

import pytest

from engine.experiments import exact_language
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring

RUN = {"TracIn": {"checkpoints": 4}, "LESS": {"checkpoints": 4},
       "EK-FAC": {"damping": 0.01}, "DataInf": {"damping": 0.01}}


@pytest.mark.parametrize("title", exact_language.METHODS)
def test_a_method_asks_what_its_named_method_implies(title):
    own, found = NAMED[exact_language.METHODS[title]], exact_language.implied(title, "answer_margin")
    expected = own.implied("answer_margin" if title not in ("RepSim", "NTK") else "answer_logit")
    process = {**expected.process.model_dump(), **RUN.get(title, {})}
    assert found == Scoring.of(expected.behavior, expected.intervention, process, expected.estimator)


def test_what_a_result_declares_stays_as_it_was():
    assert exact_language.methods() == ["GradSim", "GradSim (cosine)", "RepSim", "NTK", "Representer points", "TracIn",
                                        "LESS", "TRAK", "EK-FAC", "DataInf"]
    assert exact_language.implied("LESS", "answer_logit").canonical() == {
        "behavior": "answer_logit", "intervention": {"kind": "add_occurrence"}, "estimator": "less",
        "process": {"kind": "trajectory", "eta": 0.1, "checkpoints": 4, "every": 20}}
    assert list(exact_language.BASELINES) == ["Gradient norm", "BM25", "Random"]
