"""Several people on one server: who is not signed in sees nothing, and who is sees what is theirs alone."""

import io

import numpy as np
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.widgets.frame import account
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.basics.errors import MissingData
from engine.basics.folders import HOME, Asker, at_home, user_home
from engine.data import uploads
from engine.desk import datasets
from engine.jobs import JobQueue
from engine.problems import ProblemSource
from engine.store import comparisons
from tests.pages.support import forget, open, says, sound

ISSUER = "https://accounts.example"


@pytest.fixture(autouse=True)
def server(tmp_path, monkeypatch):
    """A server that asks for a sign-in; a session is whom its state names."""
    monkeypatch.setenv(HOME, str(tmp_path))
    monkeypatch.setenv(account.VARIABLE, "1")
    monkeypatch.setattr(Asker, "home", Asker.home)

    def told():
        who = st.session_state.get("who")
        return {"is_logged_in": False} if who is None else \
            {"is_logged_in": True, "iss": ISSUER, "sub": who, "email": f"{who}*@example.org"}

    monkeypatch.setattr("streamlit.user_info._get_user_info",
                        lambda: {} if get_script_run_ctx(suppress_warning=True) is None else told())
    forget()
    yield
    forget()


def home(who):
    return user_home(f"{ISSUER}\n{who}")


def given(who):
    """An upload of somebody's."""
    held, rng = io.BytesIO(), np.random.default_rng(0)
    np.savez(held, x_train=rng.normal(size=(60, 4)), y_train=np.arange(60) % 3, x_query=rng.normal(size=(12, 4)),
             y_query=np.arange(12) % 3)
    held.seek(0)
    with at_home(home(who)):
        return uploads.keep(held, "mine.npz")


def test_who_did_not_sign_in_sees_the_door_alone(tmp_path):
    at = sound(open("runs", settle=False))
    assert [button.label for button in at.button] == ["Sign in"] and says(at, "decisions are private")
    assert not (tmp_path / "queue.sqlite").exists() and not (tmp_path / "users").exists()


def test_who_signed_in_is_named_and_may_leave():
    at = sound(open("paper", state={"who": "ann"}))
    assert says(at, "Signed in as ann*@") and any(button.label == "Sign out" for button in at.button)


def test_a_server_without_a_provider_says_so(monkeypatch):
    monkeypatch.setattr("streamlit.user_info._get_user_info", dict)
    at = sound(open("runs", settle=False))
    assert says(at, "secrets.toml has no [auth]") and not at.button


def test_a_sign_in_that_does_not_say_who_is_refused(monkeypatch):
    nameless = {"is_logged_in": True, "email": "ann@example.org"}
    monkeypatch.setattr("streamlit.user_info._get_user_info", lambda: nameless)
    at = sound(open("runs", settle=False))
    assert says(at, "does not identify you") and len(at.title) == 0


def test_an_upload_opens_for_whoever_brought_it(tmp_path):
    name = given("ann")
    asked = {"data": name, "train": 60, "queries": 12, "candidates": 8, "nseeds": 1,
             **specification_list.address("first")}
    hers = sound(open("compare", state={"who": "ann"}, **asked))
    assert hers.get("vega_lite_chart") and not says(hers, "no longer on this machine")
    his = sound(open("compare", state={"who": "bob"}, **asked))  # the link, in the same process, while it is in memory
    chosen = [[box.value for box in at.selectbox if box.label == "Dataset"] for at in (hers, his)]
    assert chosen == [[name], [datasets.FIRST]] and says(his, "no longer on this machine")
    source = ProblemSource(dataset=name, n_train=60, n_queries=12, n_candidates=8)
    with at_home(home("ann")):
        assert desk().sample(source)[0].name == name
    with at_home(home("bob")), pytest.raises(MissingData):
        desk().sample(source)
    assert not (tmp_path / "uploads").exists() and not (home("bob") / "uploads").exists()


def test_saved_views_and_runs_are_listed_for_their_own_alone(tmp_path):
    with at_home(home("ann")):
        comparisons.save("The view of Ann", "", "metric=sign")
        JobQueue().submit("scores", {"nothing": 1}, "The run of Ann")
    assert not (tmp_path / "saved").exists()
    for page, said in (("library", "The view of Ann"), ("runs", "The run of Ann")):
        hers, his = (sound(open(page, state={"who": who})) for who in ("ann", "bob"))
        assert says(hers, said) and not says(his, said)


def test_without_a_sign_in_there_is_one_home(tmp_path, monkeypatch):
    monkeypatch.delenv(account.VARIABLE)
    at = sound(open("runs", state={"who": "ann"}))
    assert not says(at, "Signed in") and (tmp_path / "queue.sqlite").exists() and not (tmp_path / "users").exists()
