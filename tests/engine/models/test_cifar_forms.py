"""The CIFAR forms: no early down-sampling, the literature's parameter counts, and what the last block is."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.models.catalogue import build_model
from engine.models.cifar_forms import FORMS, LAST_BLOCKS, OF_STUDIES
from engine.models.network import LAST_BLOCK, selected

COUNTS = {"resnet18_cifar": 11_173_962, "resnet18_quarter_cifar": 701_466, "resnet50_cifar": 23_520_842,
          "vgg19_bn_cifar": 20_040_522, "mobilenet_v2_cifar": 2_236_682, "resnet50_quarter_cifar": 1_484_186,
          "vgg19_bn_quarter_cifar": 1_256_922, "mobilenet_v2_quarter_cifar": 250_922,
          "mobilenet_v2_stem_cifar": 2_236_682, "mobilenet_v2_stem_quarter_cifar": 250_922}
LAST = {"resnet18_cifar": (4, 4, 512), "resnet18_quarter_cifar": (4, 4, 128), "resnet50_cifar": (4, 4, 2048),
        "vgg19_bn_cifar": (1, 1, 512), "mobilenet_v2_cifar": (4, 4, 1280), "resnet50_quarter_cifar": (4, 4, 512),
        "vgg19_bn_quarter_cifar": (1, 1, 128), "mobilenet_v2_quarter_cifar": (4, 4, 1280),
        "mobilenet_v2_stem_cifar": (2, 2, 1280), "mobilenet_v2_stem_quarter_cifar": (2, 2, 1280)}


@pytest.mark.parametrize("name", [*FORMS, *OF_STUDIES])
def test_parameters_and_the_size_of_the_last_pictures(name):
    module = build_model(name, (3, 32, 32), 10).eval()
    assert sum(p.numel() for p in module.parameters()) == COUNTS[name]
    seen = []
    body = module.layer4 if name.startswith("resnet") else module.features
    body.register_forward_hook(lambda _, __, output: seen.append(tuple(output.shape[1:])))
    with torch.no_grad():
        assert module(torch.randn(2, 3, 32, 32)).shape == (2, 10)
    height, width, channels = LAST[name]
    assert seen == [(channels, height, width)]


def test_one_colour():
    assert build_model("resnet18_cifar", (1, 14, 14), 3).eval()(torch.randn(2, 1, 14, 14)).shape == (2, 3)


@pytest.mark.parametrize(("name", "starts"), [
    ("resnet18_cifar", ("layer4.1.", "fc.")), ("resnet18_quarter_cifar", ("layer4.1.", "fc.")),
    ("vgg19_bn_cifar", ("features.49.", "features.50.", "classifier.")),
    ("resnet50_quarter_cifar", ("layer4.2.", "fc.")),
    ("vgg19_bn_quarter_cifar", ("features.49.", "features.50.", "classifier.")),
    ("mobilenet_v2_quarter_cifar", ("features.17.", "features.18.", "classifier.")),
    ("mobilenet_v2_stem_cifar", ("features.18.", "classifier.")),
    ("mobilenet_v2_cifar", ("features.17.", "features.18.", "classifier."))])
def test_the_last_block_and_the_head(name, starts):
    module = build_model(name, (3, 32, 32), 10)
    names = selected(module, LAST_BLOCKS.get(name, LAST_BLOCK))
    assert names == tuple(n for n, _ in module.named_parameters() if n.startswith(starts))
    assert {n.split(".")[0] for n in names} >= {starts[0].split(".")[0], starts[-1].rstrip(".")}


def test_pictures_that_are_too_small():
    with pytest.raises(InvalidInput, match="`vgg19_bn_cifar` needs images of at least 32 × 32"):
        build_model("vgg19_bn_cifar", (1, 28, 28), 10)
    with pytest.raises(InvalidInput, match="needs images"):
        build_model("resnet18_cifar", (64,), 10)
