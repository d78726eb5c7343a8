"""A class on its own devices: who visits, what a device may do, and what of its answers is stored."""

import csv
import io

import pytest
import segno

from app.learn import audience, browser, handout
from app.learn.panel import STEPS
from app.widgets.frame import visitors
from engine.basics.errors import InvalidInput
from engine.cli.class_server import open_to_class
from engine.desk.analyses import Answer, Answers
from tests.pages.support import open, says, sound

CODE = "ABC234"
FIRST = STEPS["1"]


@pytest.fixture
def of_class(monkeypatch):
    monkeypatch.setenv(visitors.CODE, CODE)
    monkeypatch.setenv(visitors.ADDRESS, "http://192.168.1.20:8501")


@pytest.fixture
def device(of_class, monkeypatch):
    monkeypatch.setattr(visitors, "visiting", lambda: True)


def scope(client, *hosts):
    return {"type": "http", "client": (client, 1), "headers": [(b"host", host.encode()) for host in hosts]}


@pytest.mark.parametrize(("client", "host", "afar"), [
    ("127.0.0.1", "localhost:8501", False), ("::1", "[::1]:8501", False), ("127.0.0.1", "127.0.0.1", False),
    ("192.168.1.7", "192.168.1.20:8501", True), ("192.168.1.7", "localhost:8501", True),
    ("127.0.0.1", "192.168.1.20:8501", True), ("127.0.0.1", "localhost.evil.example", True)])
def test_only_the_own_machine_teaches(of_class, client, host, afar):
    assert visitors.comes_from_afar(scope(client, host)) is afar


def test_without_a_class_nobody_visits():
    assert not visitors.comes_from_afar(scope("192.168.1.7", "x"))
    assert not visitors.admits("") and not visitors.visiting()


def test_a_device_sees_the_question_alone_and_is_counted_once(device):
    at = sound(open("learn", join="WRONG1"))
    assert not at.radio and says(at, "Whichfluence") and at.text_input[0].label == "Code of the class"
    Answers().show("1", "predict")
    at = sound(open("learn", state={"_visitor": "c" * 32}, join=CODE.lower()))
    assert says(at, FIRST.title) and not at.button and not at.get("page_link") and not says(at, FIRST.prediction.why)
    for option in (0, 2):
        sound(at.radio(key="visit:counterfactual").set_value(option).run())
    assert Answers().counts(FIRST.slug, 3) == [0, 0, 1]
    Answers().show("1", "reveal")
    assert says(at.run(), FIRST.prediction.why) and not at.radio


def test_the_teacher_sees_how_many_answered_and_takes_them_along(of_class, monkeypatch):
    monkeypatch.setattr(visitors, "visiting", lambda: False)
    Answers().clear()
    for visitor, guess in (("a" * 32, 0), ("b" * 32, 2), ("d" * 32, 2)):
        Answers().keep(visitor, FIRST.slug, Answer(guess), joined=True)
    at = sound(open("learn", classroom="1", step="1"))
    sound(next(one for one in at.toggle if one.label == "Answers of the class: 3").set_value(True).run())
    assert says(at, 'class="wf-answers"') and says(at, CODE) and Answers().shown() == ("1", "predict")
    assert says(at, "QR code of")
    rows = list(csv.DictReader(io.StringIO(audience.answers_csv(STEPS))))
    assert [int(row["answers"]) for row in rows if row["step"] == "1"] == [1, 0, 2]
    assert "a" * 32 not in audience.answers_csv(STEPS)
    sound(next(one for one in at.button if one.label == "Begin a new class").click().run())
    assert sum(Answers().counts(FIRST.slug, 3)) == 0 and Answers().shown() == ("1", "predict")


def test_the_qr_code_holds_the_address_with_the_code(of_class):
    drawn = audience.scanned(160)
    encoded = segno.make("http://192.168.1.20:8501/?join=ABC234", micro=False)
    assert encoded.svg_data_uri(border=4, light="#fff", omitsize=True) in drawn
    assert 'alt="QR code of http://192.168.1.20:8501/?join=ABC234"' in drawn


def test_answers_are_bounded(monkeypatch, tmp_path):
    from engine.applications.lessons import answers

    monkeypatch.setattr(answers, "MOST_VISITORS", 2)
    monkeypatch.setattr(answers, "MOST", 3)
    store = Answers(tmp_path)
    for visitor in "ab":
        store.keep(visitor, "x", Answer(0), joined=True)
    with pytest.raises(InvalidInput, match="2 devices"):
        store.keep("c", "x", Answer(0), joined=True)
    store.keep("a", "x", Answer(1), joined=True)
    for lesson in "yzw":
        store.keep("a", lesson, Answer(0), joined=True)
    assert set(store.of("a")) == {"y", "z", "w"}


def test_a_server_is_opened_to_the_address_that_was_named(capsys):
    environment = {}
    options = open_to_class("192.168.1.20", 8501, environment)
    assert options[:2] == ["--server.address", "0.0.0.0"]
    assert options[3::2] == ["localhost", "127.0.0.1", "192.168.1.20"]
    assert len(environment["WHICHFLUENCE_CLASS"]) == 6 and environment["WHICHFLUENCE_CLASS"] in capsys.readouterr().err
    for wrong in ("*", "http://a", "a b", "a:1"):
        with pytest.raises(InvalidInput, match="not an address"):
            open_to_class(wrong, 8501, {})
    with pytest.raises(InvalidInput, match="without signing in"):
        open_to_class("192.168.1.20", 8501, {"WHICHFLUENCE_SIGN_IN": "1"})


def test_handouts_fit_a_page_and_say_what_the_lessons_say():
    names = list(STEPS)
    pages = {"plan": handout.plan(STEPS), "one": handout.worksheet({name: STEPS[name] for name in names[:5]}),
             "two": handout.worksheet({name: STEPS[name] for name in names[5:]}), "solved": handout.solutions(STEPS)}
    for title, lines in pages.items():
        assert handout.svg(title, lines).startswith("<svg")
    assert "Course: 45 minutes" in [line.text for line in pages["plan"]]
    assert all(lesson.prediction.options[lesson.prediction.right] in " ".join(line.text for line in pages["solved"])
               for lesson in STEPS.values())
    assert handout.pdf("plan", pages["plan"]).startswith(b"%PDF")


def test_a_browser_keeps_the_name_that_it_brings(monkeypatch):
    from types import SimpleNamespace

    for cookie, same in (("f" * 32, True), ("<script>", False), ("", False)):
        fake = SimpleNamespace(context=SimpleNamespace(cookies={browser.VISITOR: cookie}), session_state={})
        monkeypatch.setattr(browser, "st", fake)
        assert (browser.visitor() == cookie) is same and len(browser.visitor()) == 32
