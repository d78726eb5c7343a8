"""Random projections keep inner products on average, come back from their seed, and are linear."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.gradients.projectors import PROJECTORS, CountSketch, checked_dimension

RANDOM = ("rademacher", "gaussian", "count_sketch", "grass")


@pytest.mark.parametrize("name", RANDOM)
def test_inner_products_are_kept_on_average(name):
    torch.manual_seed(0)
    u, v = torch.randn(2, 500, dtype=torch.float64)
    v = v + u
    pair = torch.stack([u, v])
    found = [torch.linalg.vecdot(*PROJECTORS[name].project(pair, 64, seed)).item() for seed in range(300)]
    mean, error = torch.tensor(found).mean(), torch.tensor(found).std() / 300**0.5
    assert abs(mean - u @ v) < 4 * error and error < 0.05 * (u @ v)


@pytest.mark.parametrize("name", PROJECTORS)
def test_a_projection_is_linear_and_comes_back_from_its_seed(name):
    torch.manual_seed(1)
    x = torch.randn(5, 300, dtype=torch.float64)
    first = PROJECTORS[name].project(x, 32, 7)
    torch.testing.assert_close(PROJECTORS[name].project(x[2:4], 32, 7), first[2:4])
    torch.testing.assert_close(PROJECTORS[name].project(2 * x[:1] - x[1:2], 32, 7), 2 * first[:1] - first[1:2])
    if name in RANDOM:
        assert first.shape == (5, 32) and not torch.allclose(PROJECTORS[name].project(x, 32, 8), first)


def test_blocks_of_rows_make_the_same_matrix_however_they_are_cut(monkeypatch):
    from engine.gradients import projectors

    x = torch.eye(200, dtype=torch.float64)
    whole = PROJECTORS["rademacher"].project(x, 16, 0)
    assert set(whole.unique().tolist()) == {-0.25, 0.25}
    monkeypatch.setattr(projectors, "BLOCK", 16 * 30)
    torch.testing.assert_close(PROJECTORS["rademacher"].project(x, 16, 0), whole)


def test_grass_reads_four_coordinates_for_each_number():
    images = PROJECTORS["grass"].project(torch.eye(100, dtype=torch.float64), 5, 0)
    assert (images != 0).any(1).sum() == 20 and ((images != 0).sum(1) <= 1).all()
    assert images.abs().max().item() == pytest.approx(5**0.5)


def test_a_projection_onto_nothing_is_refused():
    with pytest.raises(InvalidInput, match="use at least 1"):
        checked_dimension(0)


@pytest.mark.parametrize("name", [name for name in PROJECTORS if name != "identity"])
@pytest.mark.parametrize("sizes", [(5,), (40, 3, 17)])
def test_parts_together_are_the_sum_of_their_projections(name, sizes):
    """Each with the draw of its own seed, as often as the map is used."""
    parts = [torch.randn(4, size, dtype=torch.float64) for size in sizes]
    seeds = range(7, 7 + len(sizes))
    expected = sum(PROJECTORS[name].project(part, 16, seed) for part, seed in zip(parts, seeds, strict=True))
    found = PROJECTORS[name].draw(sizes, 16, seeds, parts[0].device)
    for _ in range(2):
        torch.testing.assert_close(found(torch.cat(parts, 1)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_count_sketch_is_the_same_by_adding_and_multiplying_in_either_order_of_memory(rows):
    """Every part is drawn with its own seed, buckets before signs. What is used once is added."""
    torch.manual_seed(2)
    x, expected = torch.randn(rows, 900, dtype=torch.float64), torch.zeros(rows, 64, dtype=torch.float64)
    for part, seed in zip(x.split((700, 200), 1), (3, 4), strict=True):
        generator = torch.Generator().manual_seed(seed)
        bucket, sign = (torch.randint(most, (part.shape[1],), generator=generator) for most in (64, 2))
        expected.index_add_(1, bucket, part * (2 * sign - 1))
    sketch = CountSketch.draw((700, 200), 64, (3, 4), x.device)
    added = sum(map(PROJECTORS["count_sketch"].project, x.split((700, 200), 1), (64, 64), (3, 4)))
    for found in (sketch(x), sketch(x.T.contiguous().T), sketch(x.clone().requires_grad_()).detach(), added):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert sketch(x.float()).dtype == torch.float32
