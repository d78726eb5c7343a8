import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.choices import choice


def page():
    import streamlit as st

    from app.widgets.choices import choice

    key = choice.bound("size", 3, choice.within(1, 9))
    choice.keep("size", st.number_input("size", 1, 9, key=key))
    st.session_state["several"] = choice.several("s", int)
    choice.keep("s", [str(number) for number in st.session_state["several"]])


def run(**address):
    at = AppTest.from_function(page)
    for name, value in address.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def warnings(at):
    return [warning.value for warning in at.warning]


def test_without_an_address_the_default_holds_and_is_written():
    at = run()
    assert at.number_input[0].value == 3 and at.query_params["size"] == "3" and warnings(at) == []


def test_the_address_wins():
    assert run(size="7").number_input[0].value == 7


@pytest.mark.parametrize("text", ["12", "x", "nan", "1e99", "-1", ""])
def test_nonsense_gives_a_message_and_the_default(text):
    at = run(size=text)
    assert at.number_input[0].value == 3 and at.query_params["size"] == "3"
    assert len(warnings(at)) == 1 and f"`size={text}`" in warnings(at)[0]


def test_a_link_puts_no_markdown_of_its_own_on_the_page():
    [warning] = warnings(run(size="x` [click](http://x.test) **now** `"))
    assert "\\[click\\]" in warning and "\\*\\*now\\*\\*" in warning and "http://" not in warning


def test_the_widget_changes_the_address():
    at = run(size="7")
    at.number_input[0].set_value(5).run()
    assert at.query_params["size"] == "5"


def test_a_new_address_replaces_what_the_widget_held():
    at = run(size="7")
    at.number_input[0].set_value(5).run()
    at.query_params["size"] = "8"
    at.run()
    assert at.number_input[0].value == 8


def test_a_lost_address_keeps_the_last_choice():
    at = run(size="7", s=["1", "2"])
    at.query_params.clear()
    at.run()
    assert at.number_input[0].value == 7 and at.query_params["size"] == "7"
    assert at.session_state["several"] == [1, 2] and at.query_params["s"] == ["1", "2"]


def test_several_keeps_what_parses_and_names_the_rest():
    at = run(s=["1", "x", "2", "1"])
    assert at.session_state["several"] == [1, 2] and at.query_params["s"] == ["1", "2"]
    assert ["`s=x`" in warnings(at)[0], "it is listed twice" in warnings(at)[1]] == [True, True]


def test_parsers_say_what_they_take():
    assert choice.from_options([1, 2])("2") == 2
    with pytest.raises(ValueError, match="choose one of 1, 2"):
        choice.from_options([1, 2])("3")
    assert choice.within(0.0, 1.0, float)("0.5") == 0.5
    with pytest.raises(ValueError, match="from 0 to 1"):
        choice.within(0.0, 1.0, float)("nan")


def test_a_stale_address_does_not_undo_a_quick_change():
    at = run(size="7")
    at.number_input[0].set_value(5).run()
    at.query_params["size"] = "7"  # the browser has not heard of 5 yet
    at.number_input[0].set_value(6).run()
    assert at.number_input[0].value == 6 and at.query_params["size"] == "6"


def test_an_old_address_counts_again_after_a_while(monkeypatch):
    at = run(size="7")
    at.number_input[0].set_value(5).run()
    monkeypatch.setattr(choice, "_ECHO_SECONDS", 0.0)
    at.query_params["size"] = "7"  # the way back in the browser
    at.run()
    assert at.number_input[0].value == 7


def test_what_was_ignored_is_repeated_for_a_moment(monkeypatch):
    def waiting():
        import streamlit as st

        from app.widgets.choices import choice

        choice.remind()
        choice.one("size", 3, choice.within(1, 9))
        st.write("training")

    at = AppTest.from_function(waiting)
    at.query_params["size"] = "12"
    at.run()
    assert len(warnings(at)) == 1
    assert len(warnings(at.run())) == 1
    monkeypatch.setattr(choice, "_SAID_SECONDS", 0.0)
    assert warnings(at.run()) == []


def test_a_switch_is_said_as_one_or_zero():
    assert choice.on_off("1") is True and choice.on_off("0") is False
    for text in ("", "yes", "True", "2"):
        with pytest.raises(ValueError, match="choose one of 1, 0"):
            choice.on_off(text)


def changing():
    import streamlit as st

    from app.widgets.choices import choice

    options = ["c", "d"] if st.session_state.get("other") else ["a", "b"]
    key = choice.bound("letter", options[0], choice.from_options(options))
    choice.keep("letter", st.radio("letter", options, key=key))


def test_a_choice_of_the_page_that_fits_no_longer_gives_way_without_a_word():
    at = AppTest.from_function(changing).run()
    at.radio(key="choice:letter").set_value("b").run()
    at.session_state["other"] = True
    at.run()
    assert not at.exception and not at.warning
    assert at.radio(key="choice:letter").value == "c" and at.query_params["letter"] in ("c", ["c"])


def test_a_link_that_fits_not_is_told():
    at = AppTest.from_function(changing)
    at.query_params["letter"] = "z"
    assert "which was ignored" in at.run().warning[0].value


def arriving():
    import streamlit as st

    from app.widgets.choices import choice

    choice.arrive()
    st.session_state["told"] = [choice.one("size", 3, int), choice.one("other", 0, int)]
    choice.keep("size", st.session_state.get("wanted", st.session_state["told"][0]))
    if "waits" in st.session_state:
        st.stop()


def test_a_way_back_is_no_echo_of_what_was_replaced():
    at = AppTest.from_function(arriving)
    at.query_params["size"] = "3"
    at.run()
    at.session_state["wanted"] = 7
    at.run()
    del at.session_state["wanted"]
    at.query_params["size"] = "3"
    assert at.run().session_state["told"][0] == 7  # sent before the browser heard of 7
    at.query_params["size"] = "3"
    at.query_params["gone"] = "1"
    assert at.run().session_state["told"][0] == 3 and "gone" not in at.query_params
    del at.query_params["size"]
    at.query_params["gone"] = "1"
    at.session_state["_choices"]["other"] = ["5"]  # of another page: the address never told it
    assert at.run().session_state["told"] == [3, 5]


def test_a_way_back_undoes_what_a_page_told_that_stopped_to_wait():
    at = AppTest.from_function(arriving)
    at.session_state["waits"], at.session_state["wanted"] = True, 7
    at.run()
    assert at.query_params["size"] in ("7", ["7"])
    del at.session_state["wanted"]
    del at.query_params["size"]
    at.query_params["gone"] = "1"
    assert at.run().session_state["told"][0] == 3
