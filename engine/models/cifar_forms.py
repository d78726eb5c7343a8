"""torchvision's networks in their CIFAR form, for small pictures: a 3 × 3 stem of stride 1 and no initial pooling.

    resnet18_cifar, resnet50_cifar   7 × 7 stem and max-pooling replaced, four stages as they are
    vgg19_bn_cifar                   the convolutions as they are, mean over places, one linear layer
    mobilenet_v2_cifar               strides of the stem and of the second stage 1 instead of 2
    mobilenet_v2_stem_cifar          stride of the stem alone 1 instead of 2, as the authors' code has it
    *_quarter_cifar                  the same with a quarter of the channels, for a CPU

They take pictures of any number of colours; the paper trains them on CIFAR-10 (Appendix A-2).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, cast

from torch import nn

from engine.basics.errors import InvalidInput

Shape = tuple[int, ...]


def resnet18_cifar(shape: Shape, classes: int) -> nn.Module:
    """torchvision's ResNet-18 for small pictures: (b, *shape) -> (b, classes)."""
    return _resnet("resnet18", shape, classes)


def resnet18_quarter_cifar(shape: Shape, classes: int) -> nn.Module:
    """`resnet18_cifar` with 16 to 128 channels instead of 64 to 512: (b, *shape) -> (b, classes)."""
    from torchvision.models.resnet import BasicBlock

    _check_shape("resnet18_quarter", shape)
    return _narrow_resnet(BasicBlock, (2, 2, 2, 2), shape[0], classes)


def resnet50_quarter_cifar(shape: Shape, classes: int) -> nn.Module:
    """`resnet50_cifar` with 64 to 512 channels instead of 256 to 2,048: (b, *shape) -> (b, classes)."""
    from torchvision.models.resnet import Bottleneck

    _check_shape("resnet50_quarter", shape)
    return _narrow_resnet(Bottleneck, (3, 4, 6, 3), shape[0], classes)


def resnet50_cifar(shape: Shape, classes: int) -> nn.Module:
    """torchvision's ResNet-50 for small pictures: (b, *shape) -> (b, classes)."""
    return _resnet("resnet50", shape, classes)


def vgg19_bn_cifar(shape: Shape, classes: int) -> nn.Module:
    """torchvision's VGG-19 with BatchNorm for pictures of at least 32 × 32 pixels: (b, *shape) -> (b, classes)."""
    return _vgg("vgg19_bn", 1, shape, classes)


def vgg19_bn_quarter_cifar(shape: Shape, classes: int) -> nn.Module:
    """`vgg19_bn_cifar` with 16 to 128 channels instead of 64 to 512: (b, *shape) -> (b, classes)."""
    return _vgg("vgg19_bn_quarter", 4, shape, classes)


def mobilenet_v2_cifar(shape: Shape, classes: int) -> nn.Module:
    """torchvision's MobileNetV2 for small pictures: (b, *shape) -> (b, classes)."""
    return _mobilenet(shape, classes, (0, 2))


def mobilenet_v2_stem_cifar(shape: Shape, classes: int) -> nn.Module:
    """`mobilenet_v2_cifar` with the second stage of stride 2: (b, *shape) -> (b, classes)."""
    return _mobilenet(shape, classes, (0,))


def mobilenet_v2_stem_quarter_cifar(shape: Shape, classes: int) -> nn.Module:
    """`mobilenet_v2_quarter_cifar` with the second stage of stride 2: (b, *shape) -> (b, classes)."""
    return _mobilenet(shape, classes, (0,), width_mult=0.25)


def mobilenet_v2_quarter_cifar(shape: Shape, classes: int) -> nn.Module:
    """`mobilenet_v2_cifar` at a quarter of its width, the last 1,280 channels as they are: (b, *shape) -> (b, classes).
    """
    return _mobilenet(shape, classes, (0, 2), width_mult=0.25)


def _narrow_resnet(block: Any, counts: Sequence[int], colours: int, classes: int) -> nn.Module:
    """A ResNet of four stages of so many blocks, with a quarter of torchvision's channels."""
    width = 16
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=nn.Conv2d(colours, width, 3, padding=1, bias=False), bn1=nn.BatchNorm2d(width), relu=nn.ReLU())
    for number, (planes, stride, count) in enumerate(zip((16, 32, 64, 128), (1, 2, 2, 2), counts, strict=True), 1):
        wider = planes * block.expansion
        shortcut = None if width == wider and stride == 1 else nn.Sequential(
            nn.Conv2d(width, wider, 1, stride, bias=False), nn.BatchNorm2d(wider))
        stages[f"layer{number}"] = nn.Sequential(block(width, planes, stride, shortcut),
                                                 *(block(wider, planes) for _ in range(count - 1)))
        width = wider
    model = nn.Sequential(OrderedDict(**stages, avgpool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(),
                                      fc=nn.Linear(width, classes)))
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model


def _vgg(name: str, narrower: int, shape: Shape, classes: int) -> nn.Module:
    """VGG-19 without the head for large pictures (124 million parameters), with so many times fewer channels."""
    from torchvision.models import vgg

    _check_shape(name, shape, smallest=32)
    plan = [part if isinstance(part, str) else part // narrower for part in vgg.cfgs["E"]]
    features = vgg.make_layers(plan, batch_norm=True)
    features[0] = nn.Conv2d(shape[0], 64 // narrower, 3, padding=1)
    for layer in features:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return nn.Sequential(OrderedDict(features=features, avgpool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(),
                                     classifier=nn.Linear(512 // narrower, classes)))


def _mobilenet(shape: Shape, classes: int, unstrided: Sequence[int], **form: float) -> nn.Module:
    """unstrided: the parts of `features` whose strides are 1 instead of 2, 0 for the stem."""
    model = _built("mobilenet_v2", shape, classes, **form)
    features = cast(nn.Sequential, model.features)
    first = cast(nn.Sequential, features[0])
    stem = nn.Conv2d(shape[0], cast(nn.Conv2d, first[0]).out_channels, 3, stride=1, padding=1, bias=False)
    nn.init.kaiming_normal_(stem.weight, mode="fan_out")
    first[0] = stem
    for number in unstrided:
        for layer in features[number].modules():
            if isinstance(layer, nn.Conv2d):
                layer.stride = (1, 1)
    return model


def _resnet(name: str, shape: Shape, classes: int) -> nn.Module:
    model = _built(name, shape, classes)
    model.conv1 = nn.Conv2d(shape[0], 64, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    model.maxpool = nn.Identity()
    return model


def _built(name: str, shape: Shape, classes: int, **form: float) -> nn.Module:
    from torchvision import models

    _check_shape(name, shape)
    return models.get_model(name, weights=None, num_classes=classes, **form)


def _check_shape(name: str, shape: Shape, smallest: int = 8) -> None:
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise InvalidInput(f"The model `{name}_cifar` needs images of at least {smallest} × {smallest} pixels, "
                           f"(channels, height, width), not inputs of shape {tuple(shape)}; use `cnn` or `mlp`.")


FORMS: dict[str, Callable[[Shape, int], nn.Module]] = {
    form.__name__: form for form in (
        resnet18_cifar, resnet18_quarter_cifar, resnet50_cifar, resnet50_quarter_cifar, vgg19_bn_cifar,
        vgg19_bn_quarter_cifar, mobilenet_v2_cifar, mobilenet_v2_quarter_cifar)}
OF_STUDIES: dict[str, Callable[[Shape, int], nn.Module]] = {
    form.__name__: form for form in (mobilenet_v2_stem_cifar, mobilenet_v2_stem_quarter_cifar)}
"""Variants that a study compares with what others ran, and that no page offers."""

_VGG, _MOBILENET = r"^(features\.(49|50)|classifier)\.", r"^(features\.(17|18)|classifier)\."
_STEM = r"^(features\.18|classifier)\."
LAST_BLOCKS = {"vgg19_bn_cifar": _VGG, "vgg19_bn_quarter_cifar": _VGG,
               "mobilenet_v2_cifar": _MOBILENET, "mobilenet_v2_quarter_cifar": _MOBILENET,
               "mobilenet_v2_stem_cifar": _STEM, "mobilenet_v2_stem_quarter_cifar": _STEM}
"""What `last_block` means where the module's own structure does not say it: the last convolution with its BatchNorm
of VGG, the last inverted residual and the convolution after it of MobileNetV2, of its variant that convolution alone,
each with the head."""
