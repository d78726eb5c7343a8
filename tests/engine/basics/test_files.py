"""Files that stand or fall together, and folders that cannot be made."""

import os
from contextlib import suppress

import pytest

from engine.basics.errors import StoreError
from engine.basics.files import discard, make_folder, write_together


class Killed(BaseException):
    """Nothing after it runs, as after a kill: what the code would clean up is kept from it."""


@pytest.mark.parametrize("event", range(4))
def test_no_kill_leaves_data_beside_the_manifest_of_others(tmp_path, monkeypatch, event):
    data, manifest = tmp_path / "scores.npz", tmp_path / "scores.json"
    write_together({data: b"old", manifest: b"old"})
    unlink, replace, left = type(data).unlink, os.replace, [event]

    def counted(act, *arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return act(*arguments, **options)

    monkeypatch.setattr(type(data), "unlink", lambda *given, **options: counted(unlink, *given, **options))
    monkeypatch.setattr(os, "replace", lambda *given: counted(replace, *given))
    with suppress(Killed):
        write_together({data: b"new", manifest: b"new"})
    assert not manifest.exists() or manifest.read_bytes() == data.read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(StoreError, match=f"older `{folder}`"):
            make_folder(folder)
    assert make_folder(tmp_path / "a" / "b").is_dir() and make_folder(tmp_path / "a" / "b").is_dir()


def test_a_folder_is_discarded_whole(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    discard(tmp_path / "a", tmp_path / "tmp")
    discard(tmp_path / "absent", tmp_path / "tmp")
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]
