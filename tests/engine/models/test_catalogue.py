"""Models by name: shapes, parameter counts by hand, fresh weights, and what is refused."""

import pytest
import torch
from torch.nn.functional import conv2d, linear, max_pool2d

from engine.basics.errors import InvalidInput
from engine.models.catalogue import MODELS, build_model, torchvision_names
from engine.models.network import Network


@pytest.mark.parametrize(("shape", "hidden"), [((3, 32, 32), 64 * 8 * 8), ((1, 28, 28), 64 * 7 * 7),
                                               ((1, 8, 8), 64 * 2 * 2), ((2, 5, 9), 64 * 1 * 2)])
def test_cnn_has_the_paper_s_layers(shape, hidden):
    module = build_model("cnn", shape, 10)
    sizes = [tuple(p.shape) for p in module.parameters()]
    assert sizes == [(32, shape[0], 3, 3), (32,), (64, 32, 3, 3), (64,), (128, hidden), (128,), (10, 128), (10,)]
    x = torch.randn(3, *shape)
    w1, b1, w2, b2, w3, b3, w4, b4 = module.parameters()
    h = max_pool2d(conv2d(x, w1, b1, padding=1).relu(), 2)
    h = max_pool2d(conv2d(h, w2, b2, padding=1).relu(), 2)
    torch.testing.assert_close(module(x), linear(linear(h.flatten(1), w3, b3).relu(), w4, b4))


def test_mlp_is_two_linear_layers():
    module = build_model("mlp", (1, 4, 4), 3)
    x = torch.randn(5, 1, 4, 4)
    w1, b1, w2, b2 = module.parameters()
    assert w1.shape == (128, 16) and w2.shape == (3, 128)
    torch.testing.assert_close(module(x), linear(linear(x.flatten(1), w1, b1).relu(), w2, b2))
    assert build_model("mlp", (16,), 3)(x.flatten(1)).shape == (5, 3)


def test_torchvision_models_by_name():
    module = build_model("resnet18", (3, 32, 32), 7)
    assert module.training
    assert module.eval()(torch.randn(2, 3, 32, 32)).shape == (2, 7)
    assert sum(p.numel() for p in module.parameters()) == 11_176_512 + 513 * 7  # ResNet-18 without its head, and ours
    assert "resnet18" in torchvision_names() and "fasterrcnn_resnet50_fpn" not in torchvision_names()
    assert Network(module, "last_block").names[0].startswith("layer4.1.")


def test_auxiliary_heads_are_left_out():
    module = build_model("googlenet", (3, 32, 32), 4)
    assert module(torch.randn(2, 3, 32, 32)).shape == (2, 4)  # while training, too


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if "vgg" in name else name
                                  for name in MODELS])
def test_weights_are_fresh_and_follow_the_generator(name):
    def first():
        return next(iter(build_model(name, (1, 32, 32), 3).parameters()))

    torch.manual_seed(3)
    one, other = first(), first()
    torch.manual_seed(3)
    assert torch.equal(first(), one) and not torch.equal(one, other)


def test_what_is_refused():
    with pytest.raises(InvalidInput, match=r"no model `resnet-18`; did you mean `resnet18`\?"):
        build_model("resnet-18", (3, 32, 32), 10)
    with pytest.raises(InvalidInput, match="no model `zzz`; use `cnn`, `mlp`, .* or a classification model"):
        build_model("zzz", (3, 32, 32), 10)
    with pytest.raises(InvalidInput, match=r"`resnet18` does not take inputs of shape \(1, 8, 8\)"):
        build_model("resnet18", (1, 8, 8), 10)
    with pytest.raises(InvalidInput, match=r"`alexnet` does not take inputs of shape \(3, 32, 32\).* larger images"):
        build_model("alexnet", (3, 32, 32), 10)
    with pytest.raises(InvalidInput, match=r"at least 4 × 4 pixels.* not inputs of shape \(64,\); use `mlp`"):
        build_model("cnn", (64,), 10)
    with pytest.raises(InvalidInput, match="at least 4 × 4"):
        build_model("cnn", (1, 3, 8), 10)
