"""Classes in several spellings are said with their counts, by page and by command, and never put together unsaid."""

import io

import pytest

from engine.cli import main
from engine.data import uploads


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    return tmp_path


def table(labels):
    lines = [f"{row},{row % 7},{label}" for row, label in enumerate(labels)]
    return "\n".join(["a,b,label", *lines, ""])


def read(labels):
    return uploads.load(uploads.keep(io.BytesIO(table(labels).encode()), "t.csv"))


@pytest.mark.parametrize(("labels", "words"), [
    (["Spam"] * 12 + ["spam"] * 8 + ["ham"] * 20, ["`Spam` (12) and `spam` (8)"]),
    (["not-spam"] * 9 + ["not spam"] * 9 + ["not_spam"] * 2 + ["SPAM"] * 20, [
        "`not spam` (9) and `not-spam` (9) and `not_spam` (2)"]),
    (["Straße"] * 20 + ["STRASSE"] * 20, ["`STRASSE` (20) and `Straße` (20)"]),
    (["ﬁsh"] * 20 + ["fish"] * 20, ["`fish` (20) and `ﬁsh` (20)"]),
    (["C"] * 10 + ["C++"] * 10 + ["C#"] * 10, []), (["-1"] * 20 + ["1"] * 20, []), (["a b"] * 20 + ["ab"] * 20, [])])
def test_spellings_of_one_word_are_said_and_kept_apart(labels, words):
    dataset = read(labels)
    assert dataset.n_classes == len(set(labels))
    said = [each for each in dataset.said if "spelling" in each]
    assert len(said) == len(words) and all(each.startswith(word) for each, word in zip(said, words, strict=True))


def test_blanks_around_labels_are_said():
    dataset = read(["ham"] * 17 + ["ham "] * 3 + ["spam"] * 20)
    assert dataset.class_names == ("ham", "spam")
    assert "Blanks around the labels of 3 rows were removed." in dataset.said


def test_one_name_for_both_ends_the_sentence(home, capsys):
    path = home / "t.csv"
    path.write_text(table(["Spam"] * 12 + ["spam"] * 8 + ["ham"] * 20))
    names = home / "names.csv"
    names.write_text("class,use_as\nSpam,spam\n")
    for more, said in (([], True), (["--classes", str(names)], False)):
        assert main(["preview-data", "--data", str(path), *more]) == 0
        heard = capsys.readouterr()
        assert ("`Spam` (12) and `spam` (8) differ only in spelling" in heard.out + heard.err) is said
