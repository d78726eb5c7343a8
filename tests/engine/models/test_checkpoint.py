"""Checkpoints: round trips, every shape that trainers save, and files that must not run or half load."""

import os
import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from engine.basics.errors import InvalidInput, MissingData
from engine.models.checkpoint import load_checkpoint, read_state, save_checkpoint


def module(width=3):
    return nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 2))


def same(one, other):
    one, other = one.state_dict(), other.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


class Malicious:
    """Unpickling one would create the file `mark`."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_what_is_saved_is_loaded(tmp_path):
    source, target = module(), module()
    path = save_checkpoint(source.state_dict(), tmp_path / "weights.safetensors")
    assert not same(source, target)
    assert load_checkpoint(target, path) is target and same(source, target)
    assert [file.name for file in tmp_path.iterdir()] == ["weights.safetensors"]


def test_tied_weights_are_saved(tmp_path):
    tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    state = read_state(save_checkpoint(tied.state_dict(), tmp_path / "tied.safetensors"))
    assert torch.equal(state["1.weight"], tied[0].weight)


@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"state_dict": state, "epoch": 3},
                                  lambda state: {"model": state}, lambda state: {"model": {"state_dict": state}}],
                         ids=["plain", "state_dict", "model", "both"])
@pytest.mark.parametrize("zipped", [True, False])
def test_every_nesting_of_torch_save(tmp_path, wrap, zipped):
    source, target = module(), module()
    torch.save(wrap(source.state_dict()), tmp_path / "weights.pt", _use_new_zipfile_serialization=zipped)
    assert same(load_checkpoint(target, tmp_path / "weights.pt"), source)


def test_safetensors_by_content_and_in_another_precision(tmp_path):
    source, target = module(), module().double()
    save_file(source.state_dict(), tmp_path / "weights.bin")
    load_checkpoint(target, tmp_path / "weights.bin")
    assert target[0].weight.dtype == torch.float64
    assert torch.equal(target[0].weight, source[0].weight.double())


def test_counters_of_batchnorm_may_be_missing(tmp_path):
    source, target = module(), module()
    state = {key: value for key, value in source.state_dict().items() if not key.endswith("num_batches_tracked")}
    assert same(load_checkpoint(target, save_checkpoint(state, tmp_path / "old.safetensors")), source)


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("write", ["pickle", "torch", "beside weights"])
def test_code_in_a_pickle_is_not_run(tmp_path, protocol, write):
    path, mark = tmp_path / "weights.pt", tmp_path / "ran"
    content = {**module().state_dict(), "extra": Malicious(mark)} if write == "beside weights" else Malicious(mark)
    if write == "pickle":
        path.write_bytes(pickle.dumps(content, protocol=protocol))
    else:
        torch.save(content, path, pickle_protocol=protocol)
    target = module()
    before = module()
    before.load_state_dict(target.state_dict())
    with pytest.raises(InvalidInput, match="`weights.pt` contains more than tensors .* was not opened; save"):
        load_checkpoint(target, path)
    assert not mark.exists() and same(target, before)
    pickle.loads(pickle.dumps(Malicious(mark)))
    assert mark.exists()  # the attack itself works


def test_a_pickled_module_is_refused(tmp_path):
    torch.save(module(), tmp_path / "model.pt")
    with pytest.raises(InvalidInput, match=r"contains more than tensors .* save `model.state_dict\(\)`"):
        read_state(tmp_path / "model.pt")


@pytest.mark.parametrize("kind", ["weights.safetensors", "zip.pt", "legacy.pt"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_truncated_files(tmp_path, kind, share):
    path, state = tmp_path / kind, module().state_dict()
    if kind.endswith(".safetensors"):
        save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=kind == "zip.pt")
    content = path.read_bytes()
    path.write_bytes(content[:int(share * len(content))])
    with pytest.raises(InvalidInput, match=f"`{kind}` ") as caught:
        read_state(path)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"no checkpoint at all", b"{" * 40, bytes(8) + b"{}", b"PK\x03\x04" + bytes(99)])
def test_foreign_files(tmp_path, content):
    (tmp_path / "weights.pt").write_bytes(content)
    with pytest.raises(InvalidInput, match="`weights.pt` (is truncated|contains more)"):
        read_state(tmp_path / "weights.pt")


@pytest.mark.parametrize("thing", [torch.zeros(3), {"a": 1}, {}, {"state_dict": {"a": [1, 2]}}, [torch.zeros(1)]])
def test_anything_but_a_dictionary_of_tensors(tmp_path, thing):
    torch.save(thing, tmp_path / "weights.pt")
    with pytest.raises(InvalidInput, match="is not a dictionary of tensors"):
        read_state(tmp_path / "weights.pt")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_a_dictionary_that_holds_itself_is_refused(tmp_path, key):
    endless = {"a": torch.zeros(1)}
    endless[key] = endless
    torch.save(endless, tmp_path / "weights.pt")
    with pytest.raises(InvalidInput, match="is not a dictionary of tensors"):
        read_state(tmp_path / "weights.pt")


def test_weights_under_two_keys_are_read(tmp_path):
    torch.save({"state_dict": {"model": {"a": torch.ones(2)}}}, tmp_path / "weights.pt")
    assert read_state(tmp_path / "weights.pt")["a"].tolist() == [1, 1]


def test_complex_weights_are_refused_and_not_cut_to_their_real_part(tmp_path):
    state = module().state_dict()
    first = next(iter(state))
    torch.save({**state, first: state[first] * 1j}, tmp_path / "weights.pt")
    with pytest.raises(InvalidInput, match=f"has complex numbers for {first}; choose the model"):
        load_checkpoint(module(), tmp_path / "weights.pt")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingData, match="no checkpoint `.*absent.pt`; check the path"):
        read_state(tmp_path / "absent.pt")


def test_keys_and_shapes_that_do_not_fit_are_named_and_nothing_is_changed(tmp_path):
    target, before = module(), module()
    before.load_state_dict(target.state_dict())

    def refused(state):
        with pytest.raises(InvalidInput) as caught:
            load_checkpoint(target, save_checkpoint(state, tmp_path / "weights.safetensors"))
        assert same(target, before)
        return str(caught.value)

    state = module().state_dict()
    said = refused({key: value for key, value in state.items() if key != "2.bias"})
    assert "lacks 2.bias; choose the model" in said
    assert "has the unknown head.weight; choose" in refused({**state, "head.weight": torch.zeros(1)})
    assert "has different shapes for 0.weight (5, 4) instead of (3, 4), 0.bias (5,) instead of (3,)" in \
        refused(module(width=5).state_dict())
    said = refused({f"net{key[0]}.{key}": value for key, value in state.items()})
    assert "lacks 0.weight, 0.bias, 1.weight and 5 more and has the unknown net0.0.bias, " in said


@pytest.mark.parametrize("name", [lambda key: f"module.{key}", lambda key: f"_orig_mod.module.{key}",
                                  lambda key: f"model.net.{key}", lambda key: f"{key[0]}._orig_mod.{key[2:]}"])
@pytest.mark.parametrize("under", ["", "state_dict", "model_state_dict", "net"])
def test_what_wrappers_put_into_all_names_is_left_out(tmp_path, name, under):
    source = module()
    state = {name(key): value for key, value in source.state_dict().items()}
    torch.save({"epoch": 3, "optimizer": {"state": {}}, under: state} if under else state, tmp_path / "weights.pt")
    assert same(load_checkpoint(module(), tmp_path / "weights.pt"), source)


def test_weights_in_float64_are_not_narrowed_unsaid(tmp_path):
    """The module takes the precision of the file; a problem in float32 says what that takes from it."""
    source, target = module().double(), module()
    with torch.no_grad():
        source[0].weight.add_(1e-12)
    load_checkpoint(target, save_checkpoint(source.state_dict(), tmp_path / "weights.safetensors"))
    assert same(target, source) and target[0].weight.dtype == torch.float64
    again = load_checkpoint(module(), save_checkpoint(module().state_dict(), tmp_path / "narrow.safetensors"))
    assert again[0].weight.dtype == torch.float32


def test_tied_weights_that_are_saved_once_are_all_there(tmp_path):
    def tied():
        model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Tanh(), nn.Linear(3, 3, bias=False))
        model[2].weight = model[0].weight
        return model

    saved = tied()
    save_file({"2.weight": saved[2].weight.data}, tmp_path / "a.safetensors")
    assert same(load_checkpoint(tied(), tmp_path / "a.safetensors"), saved)
