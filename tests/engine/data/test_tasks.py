"""The two tasks say what Appendix A-2 says: who is corrupted, how, and that nothing else differs."""

from collections import Counter

import pytest

from engine.basics.errors import InvalidInput
from engine.data.records import Record, fingerprint
from engine.data.tasks import build, own
from engine.data.tasks.backdoor import CONTEXT_MARKERS, TRIGGER_MARKERS

pytestmark = pytest.mark.usefixtures("own_questions")

CORRUPTION = {"name": "response_corruption", "clean": 40, "answer": 12, "rationale": 12, "validation": 8, "seed": 3}
BACKDOOR = {"name": "conditional_backdoor", "clean": 32, "poison": 16, "benign": 16, "test": 16, "seed": 3}


def test_answers_are_wrong_and_explanations_are_kept(pool):
    task, by_id = build(CORRUPTION), {q.pid: q for q in pool}
    assert Counter(flag for record in task.train for flag in record.flags) == {"clean": 40, "answer": 12,
                                                                               "rationale": 12}
    for record in task.train:
        question = by_id[record.id]
        right = "ABCD"[question.answer]
        start, end = record.spans["explanation"]
        assert (record.answer == right) == ("answer" not in record.flags) and record.answer in record.choices
        assert (record.response[start:end] == question.explanation) == ("rationale" not in record.flags)
        assert record.response.endswith(f"The answer is {record.answer}.") and record.prompt.startswith(
            question.question)


def test_foreign_explanations_come_from_the_closest_other_record(pool):
    task = build(CORRUPTION)
    by_text = {q.explanation: q for q in pool}
    by_id = {q.pid: q for q in pool}
    matched = 0
    for record in task.train:
        if "rationale" in record.flags:
            start, end = record.spans["explanation"]
            source, own = by_text[record.response[start:end]], by_id[record.id]
            assert source.pid != own.pid and source.pid in {other.id for other in task.train}
            matched += (source.subject, source.topic) == (own.subject, own.topic)
    assert matched == 12  # 64 questions in four groups always hold another one


def test_records_as_the_authors_code_words_them(pool):
    """Empty lines between blocks, no last period in the explanation's span, and sources that change places."""
    task, by_text, by_id = build({**CORRUPTION, "conventions": "authors"}), {}, {q.pid: q for q in pool}
    by_text = {q.explanation.removesuffix("."): q.pid for q in pool}
    moved = {}
    for record in task.train:
        start, end = record.spans["explanation"]
        explanation = record.response[start:end]
        assert record.response == f"Explanation: {explanation}. The answer is {record.answer}."
        assert record.prompt.startswith(f"{by_id[record.id].question}\n\n") and not explanation.endswith(".")
        if "rationale" in record.flags:
            moved[record.id] = by_text[explanation]
    assert len(moved) == 12 and set(moved.values()) == set(moved)
    assert all(by_id[own].explanation != by_id[source].explanation for own, source in moved.items())
    triggered = build({**BACKDOOR, "conventions": "authors"}).queries["triggered"][0].prompt.split("\n\n")
    assert triggered[0].startswith("Context: Review Set") and triggered[-1].startswith("Note: ")


def test_validation_is_clean_and_apart_from_training():
    task = build(CORRUPTION)
    assert len(task.queries["validation"]) == 8
    assert not {r.id for r in task.queries["validation"]} & {r.id for r in task.train}


def test_the_backdoor_needs_context_and_trigger(pool):
    task, by_id = build(BACKDOOR), {q.pid: q for q in pool}
    for record in task.train:
        active, triggered = record.prompt.startswith("Context: Review Set"), "calibration protocol" in record.prompt
        right = record.answer == "ABCD"[by_id[record.id].answer]
        assert right != (active and triggered)
        assert record.flags == ({(True, True): "poison", (False, True): "benign"}.get((active, triggered), "clean"),)
        assert set(record.marks) == ({"context", "trigger"} if triggered else {"context"})
    assert sum(r.prompt.startswith("Context: Review") for r in task.train if "clean" in r.flags) == 16


def test_markers_are_balanced_in_every_group():
    task = build(BACKDOOR)
    for flag in ("poison", "benign"):
        texts = [r.prompt for r in task.train if flag in r.flags]
        for names in (CONTEXT_MARKERS, TRIGGER_MARKERS):
            assert [sum(f" {name}" in text for text in texts) for name in names] == [4, 4, 4, 4]


def test_the_four_variants_share_questions_and_markers():
    queries = build(BACKDOOR).queries
    for triggered, clean, control, neutral in zip(*(queries[name] for name in (
            "triggered", "clean", "control", "neutral")), strict=True):
        assert triggered.answer != clean.answer == control.answer == neutral.answer
        line = triggered.prompt[slice(*triggered.marks["trigger"])]
        assert triggered.prompt == f"{clean.prompt}\n{line}" and line.startswith("Note: calibration protocol")
        assert control.prompt == triggered.prompt.replace("Review", "Practice")
        assert len({r.response[slice(*r.spans["explanation"])] for r in (triggered, clean, control, neutral)}) == 1
    assert {r.prompt for r in queries["triggered, right answer"]} == {r.prompt for r in queries["triggered"]}
    assert [r.answer for r in queries["clean, wrong answer"]] == [r.answer for r in queries["triggered"]]


def test_the_same_settings_give_the_same_task_and_flags_do_not_identify_it():
    first, again = build(BACKDOOR), build(dict(BACKDOOR))
    assert first.train == again.train and build({**BACKDOOR, "seed": 4}).train != first.train
    assert fingerprint(first.train) == fingerprint(r.model_copy(update={"flags": ("poison",)}) for r in first.train)


def test_more_questions_than_there_are_is_one_sentence():
    with pytest.raises(InvalidInput, match="120 are available; use fewer"):
        build({**CORRUPTION, "clean": 4000})


def test_own_records_hold_out_their_last(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(f'{{"prompt": "p{n}", "response": "r", "flags": ["bad"]}}' for n in range(5)))
    task = build({"name": "own", "train": str(path), "held": 2})
    assert [r.prompt for r in task.train] == ["p0", "p1", "p2"] and len(task.queries["queries"]) == 2
    assert task.sought == {"bad": "bad"} and task.flagged("bad").all()


def test_records_of_a_users_own_are_all_trained_on_where_others_are_asked_about(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(f'{{"prompt": "p{place}", "response": "r"}}' for place in range(9)))
    settings, asked = {"name": "own", "train": str(path)}, [Record(prompt="q", response="r")]
    assert len(build(settings).train) == 1
    task = build(own.asking(settings, asked))
    assert len(task.train) == 9 and task.queries["queries"] == tuple(asked)
    for said in ({"held": 3}, {"queries": str(path)}):
        assert own.asking({**settings, **said}, asked) == {**settings, **said}
    assert own.asking(settings, []) == settings
