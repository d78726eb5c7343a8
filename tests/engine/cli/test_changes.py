"""changes.csv says each change once, or is refused in a sentence."""

import pytest

from engine.basics.errors import InvalidInput, MissingData
from engine.cli.changes import read_changes

FAULTY = {
    "row,label\n3,\n3,2\n": "says twice what happens to row 3", "row,label\n3,1\n3,1\n": "says twice",
    "row,label\n": "changes nothing", "": "is not a CSV", "row\n3\n": "is not a CSV", "row,label\n5\n": "is not a CSV",
    "row,label,row\n1,2,3\n": "is not a CSV", "row,label\n1,2,3\n": "is not a CSV", "row,label\nx,\n": "is not a CSV",
    f"row,label\n{10**30},\n": "is not a CSV", "row,label\n" + "9" * 5_000 + ",\n": "is not a CSV",
    "row,label\n-1,\n": "is not a CSV", 'row,label\n"' + "1" * 140_000 + '",\n': "is not a CSV",
    'row,label\n1,"2\n': "is not a CSV", b"row,label\n\xff,\n": "is not a CSV"}


@pytest.mark.parametrize("content", FAULTY, ids=lambda content: repr(content[:24]))
def test_what_is_no_list_of_changes_is_refused(tmp_path, content):
    path = tmp_path / "changes.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput, match=FAULTY[content]) as caught:
        read_changes(path)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_removed_and_relabelled_rows(tmp_path, start):
    (tmp_path / "changes.csv").write_bytes(start + b"name,label,row\r\na,,3\r\n\r\nb,2,5\r\n")
    assert read_changes(tmp_path / "changes.csv") == ([3], {5: 2})
    with pytest.raises(MissingData, match="There is no file"):
        read_changes(tmp_path / "absent.csv")
