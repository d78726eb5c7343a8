"""Own records on the Language models page: how they are read, and the settings of the methods, in link and command."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli.language_run import read_run
from engine.data import record_files
from engine.desk.language import Study
from tests.pages.support import open, says, sound

ANSWER = r"The answer is (\w+)"


@pytest.fixture
def file(home):
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "The answer is B."},
             {"role": "user", "content": "Again"}, {"role": "assistant", "content": "It is C."}]
    lines = [json.dumps({"id": str(n), "messages": turns}) for n in range(20)]
    return Path(record_files.keep("\n".join(lines).encode())).name


def page(file, **address):
    return sound(open("language_models", show="records", task="own", model="World-0.4M", file=file, **address))


def test_turns_and_patterns_are_chosen_in_a_form(file):
    at = page(file)
    assert says(at, "Of these 20, 0 have an answer span")
    form = {element.label: element for element in (*at.selectbox, *at.text_input)}
    form["Of a conversation"].set_value("every")
    form["Pattern of the answer in a response"].set_value(ANSWER)
    next(button for button in at.button if button.label == "Import with these settings").click()
    at = sound(at.run())
    assert says(at, "Of these 40, 20 have an answer span")
    assert at.query_params["turns"] in ("every", ["every"]) and f"answer={ANSWER}" in at.query_params["mark"]
    again = page(file, turns="every", mark=[f"answer={ANSWER}"])
    assert says(again, "Of these 40, 20 have an answer span")


def test_what_is_no_pattern_is_one_sentence_and_changes_nothing(file):
    at = page(file)
    next(element for element in at.text_input if element.label == "Pattern of the answer in a response").set_value("(")
    next(button for button in at.button if button.label == "Import with these settings").click()
    at = sound(at.run())
    assert says(at, "is not a regular expression") and "mark" not in at.query_params


def test_settings_of_the_methods_stand_in_the_address(file):
    at = page(file, **{"method-ridge": "0.5"})
    inputs = {element.label: element for element in at.number_input}
    assert inputs["Ridge"].value == 0.5 and inputs["Dimension"].value == 2048
    at = sound(inputs["Dimension"].set_value(512).run())
    assert at.query_params["method-dimension"] in ("512", ["512"])


def test_the_command_says_how_a_file_is_read_and_by_which_settings(file):
    study = Study("own", "World-0.4M", 80, 0, record_files.path_of(file), turns="every", mark={"answer": ANSWER})
    usual = {name: study.method_setting(name) for name in ("projector", "dimension", "seed", "budget", "ridge")}
    assert study.with_methods(usual) == study
    changed = study.with_methods({**usual, "dimension": 512, "budget": 0, "ridge": 0.5})
    words = shlex.split(changed.command)
    run = read_run(words[words.index("--run") + 1])
    assert run.setting == changed.setting and run.setting.ridge == 0.5 and run.setting.projection.dimension == 512
    assert run.setting.task["turns"] == "every" and run.setting.task["mark"] == {"answer": ANSWER}
    assert run.payload == changed.request.payload != study.request.payload


def test_a_range_of_tokens_is_picked_stands_in_the_address_and_is_a_behavior(file):
    at = page(file, ranged="1", range="tokens@2:1-2", behavior="tokens@2:1-2")
    picked = {element.label: element for element in at.selectbox}
    assert picked["First token"].value == 1 and picked["Last token"].value == 2
    assert picked["Behavior"].value == "tokens@2:1-2" and says(at, "tokens 1-2 in the response of query 2")
    at = sound(picked["Last token"].set_value(3).run())
    assert at.query_params["range"] in ("tokens@2:1-3", ["tokens@2:1-3"])
    assert next(element for element in at.selectbox if element.label == "Behavior").value == "tokens@2:1-3"


def test_a_range_of_tokens_is_part_of_the_run_and_its_command(file):
    study = Study("own", "World-0.4M", 80, 0, record_files.path_of(file), ranges=("tokens@2:1-2",))
    words = shlex.split(study.command)
    assert read_run(words[words.index("--run") + 1]).setting == study.setting
    assert study.setting.ranges == ("tokens@2:1-2",) and study.digest != replace(study, ranges=()).digest
    assert len(study.queries) == 8 and all(record.response == "It is C." for record in study.queries)
