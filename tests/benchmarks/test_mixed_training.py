"""Training a ResNet-18 of a quarter of its width with mixed precision against float32, in turn, in one run."""

import torch

from engine.models.catalogue import build_model
from engine.models.gain import ENOUGH, gain
from engine.models.recipe import Recipe
from engine.models.training import train
from tests.benchmarks.bench_problems import SMALL, seconds

N, ROUNDS = (64, 1) if SMALL else (1_280, 3)
RECIPE = Recipe(epochs=1, batch_size=128, learning_rate=0.05, momentum=0.9, weight_decay=5e-4)


def test_pictures_a_second():
    """Of 32 × 32 pixels and three colours; starting a training counts, as it does for everybody."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(N, 3, 32, 32, generator=generator), torch.arange(N) % 10
    least, told = {}, {}
    for _ in range(ROUNDS):
        for precision in ("full", "mixed"):
            recipe = RECIPE.model_copy(update={"precision": precision})
            taken, found = seconds(lambda recipe=recipe: train(
                lambda: build_model("resnet18_quarter_cifar", (3, 32, 32), 10), x, y, recipe, 0))
            least[precision], told[precision] = min(taken, least.get(precision, taken)), found.passes
    pace = {precision: N / taken for precision, taken in least.items()}
    print(f"\ntraining a ResNet-18 of a quarter of its width on {torch.get_num_threads()} threads: "
          f"{pace['full']:,.0f} pictures/s in {told['full']}, {pace['mixed']:,.0f} in {told['mixed']}, "
          f"{pace['mixed'] / pace['full']:.2f} times as many")
    assert SMALL or gain().convolutions < ENOUGH or pace["mixed"] > pace["full"]
