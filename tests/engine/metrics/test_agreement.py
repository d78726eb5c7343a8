import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from engine.basics.errors import InvalidInput
from engine.metrics import agreement, kendall
from engine.metrics.agreement import METRICS, kendall_tau, pairwise, sign_agreement, summarize, top_overlap, top_size
from engine.metrics.one_thread import one_torch_thread


def naive_kendall(a, b):
    if a.shape[1] < 2:  # SciPy warns of it, and gives the same
        return np.full(len(a), math.nan)
    return np.array([stats.kendalltau(x, y, variant="b").statistic for x, y in zip(a, b, strict=True)])


def naive_overlap(a, b, fraction):
    result = []
    for x, y in zip(a, b, strict=True):
        size = max(1, int(fraction * len(x) + 0.5))
        tops = [set(sorted(range(len(v)), key=lambda c, v=v: (-v[c], c))[:size]) for v in (x, y)]
        result.append(math.nan if np.isnan([x, y]).any() else len(tops[0] & tops[1]) / size)
    return np.array(result)


def naive_sign(a, b):
    result = []
    for x, y in zip(a, b, strict=True):
        same = sum((p > 0) == (q > 0) and (p < 0) == (q < 0) for p, q in zip(x, y, strict=True))
        result.append(math.nan if np.isnan([x, y]).any() else same / len(x))
    return np.array(result)


def scores(kind, k, queries=6, seed=0):
    rng = np.random.default_rng([seed, k])
    noise = rng.normal(size=(queries, k))
    if kind == "continuous":
        return noise
    if kind == "float32":
        return noise.astype(np.float32)
    if kind == "some ties":
        return np.round(noise, 1)
    if kind == "heavy ties":
        return rng.integers(-1, 2, size=(queries, k))
    if kind == "infinite":
        noise[:, :: max(1, k // 3)] = np.inf
        return noise
    noise[1, k // 2] = np.nan
    noise[2] = 7.0
    return noise


KINDS = ["continuous", "float32", "some ties", "heavy ties", "infinite", "undefined rows"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 257, 1000]


@pytest.mark.grid(2)
@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_matches_the_references(first, second, k):
    a, b = scores(first, k), scores(second, k, seed=1)
    np.testing.assert_allclose(kendall_tau(a, b), naive_kendall(a, b), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(top_overlap(a, b, 0.2), naive_overlap(a, b, 0.2))
    np.testing.assert_allclose(sign_agreement(a, b), naive_sign(a, b), rtol=0, atol=1e-15)


@pytest.mark.parametrize("k", [4097, 20_000, 70_000])
@pytest.mark.parametrize("kind", ["continuous", "some ties"])
def test_kendall_of_many_candidates(kind, k):
    a = scores(kind, k, queries=2)
    b = np.round(a + scores("continuous", k, queries=2, seed=1), 1 if kind == "some ties" else 12)
    np.testing.assert_allclose(kendall_tau(a, b), naive_kendall(a, b), rtol=0, atol=1e-12)
    assert kendall_tau(a, -a).tolist() == [-1.0, -1.0] and kendall_tau(a, 2 * a).tolist() == [1.0, 1.0]


def test_by_hand():
    a = np.array([[1.0, 2.0, 3.0, 3.0, -1.0]])
    b = np.array([[1.0, 0.0, 5.0, 4.0, -2.0]])
    # pairs by candidate: 01 −, 02 +, 03 +, 04 +, 12 +, 13 +, 14 +, 23 tied in a, 24 +, 34 +: C = 8, D = 1
    assert kendall_tau(a, b)[0] == pytest.approx((8 - 1) / math.sqrt((10 - 1) * (10 - 0)), abs=1e-15)
    assert top_overlap(a, b, 0.4)[0] == 1.0  # {2, 3} both times
    assert top_overlap(a, b, 0.2)[0] == 1.0  # the tie at 3.0 goes to candidate 2
    assert top_overlap(a, b[:, [0, 1, 3, 2, 4]], 0.2)[0] == 0.0
    assert sign_agreement(a, b)[0] == 0.8  # 2.0 against 0.0


def test_undefined_rows_touch_no_other():
    a, b = scores("undefined rows", 40), scores("continuous", 40, seed=1)
    assert np.isnan(kendall_tau(a, b)).tolist() == [False, True, True, False, False, False]
    for metric in (top_overlap, sign_agreement):
        assert np.isnan(metric(a, b)).tolist() == [False, True, False, False, False, False]
        np.testing.assert_array_equal(np.isnan(metric(b, a)), np.isnan(metric(a, b)))


@pytest.mark.parametrize("count", [1, 2, 8, 20])
def test_pairwise_is_every_pair(count):
    kinds = [KINDS[i % len(KINDS)] for i in range(count)]
    stack = np.stack([scores(kind, 50, seed=i) for i, kind in enumerate(kinds)])
    result = pairwise(stack, ("kendall", "overlap", "sign"), fraction=0.1)
    reference = {
        "kendall": naive_kendall,
        "overlap": lambda a, b: naive_overlap(a, b, 0.1),
        "sign": naive_sign,
    }
    assert list(result) == list(reference)
    for name, function in reference.items():
        assert result[name].shape == (count, count, 6)
        for i, j in [(0, 0), (0, count - 1), (count - 1, 0), (count // 2, count - 1)]:
            np.testing.assert_allclose(result[name][i, j], function(stack[i], stack[j]), rtol=0, atol=1e-12)


def test_threads_change_nothing(monkeypatch):
    stack = np.stack([scores(kind, 65, queries=40) for kind in KINDS])
    whole = pairwise(stack, METRICS)
    for module in (agreement, kendall):
        monkeypatch.setattr(module, "CACHED", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for name, values in pairwise(stack, METRICS).items():
            np.testing.assert_array_equal(values, whole[name])
    finally:
        torch.set_num_threads(before)


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 300, 1000])
def test_blocked_equals_unblocked(kind, block, monkeypatch):
    stack = np.stack([scores(kind, 33, queries=23, seed=i) for i in range(5)])
    whole = pairwise(stack, METRICS, block=10**9)
    for module in (agreement, kendall):
        monkeypatch.setattr(module, "CACHED", 100)
    for name, values in pairwise(stack, METRICS, block=block).items():
        np.testing.assert_array_equal(values, whole[name])


def test_inversions_of_blocks():
    blocks = torch.from_numpy(np.random.default_rng(0).integers(0, 9, (16, 5, 9)).astype(np.uint8))
    within = sum((blocks[i] > blocks[j]).sum(-1) for i in range(16) for j in range(i + 1, 16))
    assert kendall._inversions(blocks).tolist() == within.tolist()
    places = blocks.permute(1, 2, 0).reshape(5, -1)  # in order, and so block number = place // 16
    across = [sum(row[j] < row[i] for j in range(144) for i in range(j // 16 * 16)) for row in places.tolist()]
    assert kendall._inversions_across(blocks).tolist() == across


@pytest.mark.parametrize("kind", KINDS)
def test_the_route_of_other_devices_agrees(kind, monkeypatch):
    stack = torch.from_numpy(np.stack([scores(kind, 300, seed=i) for i in range(4)]))
    with_numpy = pairwise(stack, METRICS)
    monkeypatch.setattr(kendall, "in_numpy", lambda tensor: False)
    for name, values in pairwise(stack, METRICS).items():
        torch.testing.assert_close(values, with_numpy[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", KINDS)
def test_cuda_equals_cpu(kind):
    stack = torch.from_numpy(np.stack([scores(kind, 300, seed=i) for i in range(4)]))
    on_cpu = pairwise(stack, METRICS)
    for name, values in pairwise(stack.cuda(), METRICS).items():
        assert values.is_cuda
        torch.testing.assert_close(values.cpu(), on_cpu[name], rtol=0, atol=1e-12, equal_nan=True)


def test_an_array_against_itself():
    stack = scores("undefined rows", 40)[None]
    result = pairwise(stack)
    np.testing.assert_array_equal(result["kendall"][0, 0], [1, math.nan, math.nan, 1, 1, 1])
    for name in ("overlap", "sign"):
        np.testing.assert_array_equal(result[name][0, 0], [1, math.nan, 1, 1, 1, 1])


def test_torch_in_torch_out():
    a, b = torch.from_numpy(scores("some ties", 30)), torch.from_numpy(scores("continuous", 30, seed=1))
    result = kendall_tau(a, b)
    assert isinstance(result, torch.Tensor) and result.dtype == torch.float64
    assert isinstance(kendall_tau(a.numpy(), b.numpy()), np.ndarray)
    np.testing.assert_array_equal(result.numpy(), kendall_tau(a.numpy(), b.numpy()))
    assert kendall_tau(a.requires_grad_(), b).requires_grad is False


def test_inputs_are_left_alone():
    a, b = scores("undefined rows", 30), scores("some ties", 30, seed=1)
    kept = a.copy(), b.copy()
    pairwise(torch.from_numpy(np.stack([a, b])))
    for metric in (kendall_tau, top_overlap, sign_agreement):
        metric(a, b)
    np.testing.assert_array_equal(a, kept[0])
    np.testing.assert_array_equal(b, kept[1])


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        kendall_tau(scores("continuous", 30), scores("continuous", 30, seed=1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_two_at_once_put_the_number_of_threads_back():
    """The first leaves while the second is at work: the second must not take the limit for the number from before."""
    before, first_is_in, first_is_out, seen = torch.get_num_threads(), threading.Event(), threading.Event(), []
    torch.set_num_threads(3)

    def second():
        first_is_in.wait(5)
        with one_torch_thread() as available:
            seen.append((available, torch.get_num_threads()))
            entered.set()
            first_is_out.wait(5)
        seen.append(torch.get_num_threads())

    entered, other = threading.Event(), threading.Thread(target=second)
    try:
        other.start()
        with one_torch_thread():
            first_is_in.set()
            assert entered.wait(5)
        first_is_out.set()
        other.join(5)
        assert seen == [(3, 1), 3] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_mixed_and_narrow_types():
    a, b = scores("heavy ties", 30), scores("continuous", 30, seed=1)
    expected = kendall_tau(a.astype(float), b)
    np.testing.assert_array_equal(kendall_tau(a, b), expected)
    np.testing.assert_array_equal(kendall_tau(a.astype(np.int8), b), expected)
    np.testing.assert_array_equal(kendall_tau(torch.from_numpy(a).bfloat16(), torch.from_numpy(b)), expected)
    np.testing.assert_array_equal(kendall_tau(a > 0, b), kendall_tau((a > 0).astype(float), b))
    np.testing.assert_array_equal(kendall_tau(a[:, ::-1], b[:, ::-1]), kendall_tau(a[:, ::-1].copy(), b[:, ::-1]))


def test_negative_zero_is_zero():
    assert kendall_tau([[0.0, -0.0, 1.0]], [[1.0, 1.0, 2.0]])[0] == pytest.approx(1.0)
    assert sign_agreement([[0.0, -0.0]], [[-0.0, 0.0]])[0] == 1.0


def test_no_queries_give_no_values():
    assert kendall_tau(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)


ROWS = hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(1, 3), st.integers(1, 40)), elements=st.integers(-6, 6))


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_properties(pair):
    a, b = pair
    tau = kendall_tau(a, b)
    np.testing.assert_allclose(tau, naive_kendall(a, b), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(tau, kendall_tau(b, a))
    np.testing.assert_array_equal(tau, -kendall_tau(a, -b))
    np.testing.assert_array_equal(tau, kendall_tau(np.exp(a.astype(float)), b**3 + 2.0 * b))
    overlap = top_overlap(a, b, 0.3)
    np.testing.assert_array_equal(overlap, naive_overlap(a, b, 0.3))
    np.testing.assert_array_equal(overlap, top_overlap(b, a, 0.3))
    np.testing.assert_array_equal(overlap, top_overlap(np.exp(a.astype(float)), b**3 + 2.0 * b, 0.3))
    signs = sign_agreement(a, b)
    np.testing.assert_array_equal(signs, sign_agreement(b, a))
    np.testing.assert_array_equal(signs, sign_agreement(-a, -3.5 * b))


@pytest.mark.parametrize(
    ("k", "fraction", "size"), [(1000, 0.05, 50), (100, 0.07, 7), (10, 0.05, 1), (3, 0.05, 1), (50, 0.05, 3), (9, 1, 9)]
)
def test_top_size(k, fraction, size):
    assert top_size(k, fraction) == size


@pytest.mark.parametrize(
    "call",
    [
        lambda: kendall_tau(np.zeros((2, 3)), np.zeros((2, 4))),
        lambda: top_overlap(np.zeros((2, 3)), np.zeros((3, 3))),
        lambda: sign_agreement(np.zeros(3), np.zeros(3)),
        lambda: kendall_tau(np.zeros((2, 0)), np.zeros((2, 0))),
        lambda: kendall_tau(np.zeros((2, 3), complex), np.zeros((2, 3), complex)),
        lambda: kendall_tau(np.array([["a"]]), np.array([["b"]])),
        lambda: top_overlap(np.zeros((2, 3)), np.zeros((2, 3)), 0.0),
        lambda: top_overlap(np.zeros((2, 3)), np.zeros((2, 3)), 1.5),
        lambda: pairwise(np.zeros((2, 3))),
        lambda: pairwise([]),
        lambda: pairwise([np.zeros((2, 3)), np.zeros((2, 4))]),
        lambda: pairwise(np.zeros((2, 2, 3)), ("pearson",)),
        lambda: pairwise(np.zeros((2, 2, 3)), block=0),
    ],
)
def test_unusable_input_is_refused_in_one_sentence(call):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).endswith((".", "?"))


def test_registry():
    assert {name: metric.title for name, metric in METRICS.items()} == {
        "kendall_tau": "Kendall tau",
        "top_overlap": "Top-5% overlap",
        "sign_agreement": "Sign agreement",
    }
    stack = np.random.default_rng(0).normal(size=(2, 400, 200))
    for name, values in pairwise(stack, METRICS, fraction=0.1).items():
        metric = METRICS[name]
        low, high = metric.range
        unrelated = values[0, 1]
        assert metric.name == name and ((unrelated >= low) & (unrelated <= high)).all()
        standard_error = unrelated.std() / math.sqrt(len(unrelated))
        assert abs(unrelated.mean() - metric.chance(200, 0.1)) < 4 * standard_error


def test_a_new_metric_is_one_entry():
    def same_best(stack, fraction):
        best = stack.argmax(-1)
        return (best[:, None] == best).to(torch.float64)

    try:
        METRICS.add(
            "same_best", agreement.Metric("same_best", "Same best", "best", "…", (0, 1), lambda k, f: 1 / k, same_best)
        )
        result = pairwise(np.array([[[1, 2, 0]], [[0, 3, 1]], [[5, 1, 1]]]), ("same_best", "best"))
        assert result["same_best"][..., 0].tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
        np.testing.assert_array_equal(result["best"], result["same_best"])
    finally:
        METRICS.remove("same_best")


@pytest.mark.parametrize("kind", ["ties", "continuous"])
def test_pooled_is_one_ranking_of_all_pairs(kind):
    """Queries on different scales, and zeros: SciPy's τ-b, sets and signs of the arrays as one long row."""
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=(2, 5, 40)) * np.array([0.01, 1, 3, 10, 100])[:, None]
    a, b = (np.round(a), np.round(b)) if kind == "ties" else (a, b)
    a[0, :7] = b[0, 2:9] = 0.0
    over_all = {name: values[0, 1, 0] for name, values in pairwise(np.stack([a, b]), pooled=True).items()}
    assert over_all["kendall"] == pytest.approx(stats.kendalltau(a.ravel(), b.ravel()).statistic)
    assert over_all["overlap"] == pytest.approx(naive_overlap(a.reshape(1, -1), b.reshape(1, -1), 0.05)[0])
    counted = [(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True) if x != 0 or y != 0]
    assert len(counted) < a.size
    assert over_all["sign"] == pytest.approx(np.mean([np.sign(x) == np.sign(y) for x, y in counted]))
    assert abs(over_all["kendall"] - np.nanmean(pairwise(np.stack([a, b]))["kendall"][0, 1])) > 1e-3


def test_pooled_zeros_have_no_sign_to_agree_on():
    assert math.isnan(pairwise(np.zeros((2, 3, 4)), ("sign",), pooled=True)["sign"][0, 1, 0])


def test_summarize_by_hand():
    summary = summarize([[0.5, math.nan, 0.7], [0.8, 0.8, 0.8], [1.0, 1.0, math.nan]])
    # per-seed means 0.6, 0.8, 1.0: s = 0.2, t(0.975, 2) = 4.302653
    assert summary.per_seed == pytest.approx((0.6, 0.8, 1.0))
    assert summary.mean == pytest.approx(0.8)
    assert summary.ci95 == pytest.approx(4.302653 * 0.2 / math.sqrt(3), abs=1e-6)
    assert (summary.n_seeds, summary.n_queries, summary.n_dropped, summary.interval_over) == (3, 3, 2, "seeds")


def test_summarize_over_queries():
    per_query = np.array([0.1, 0.2, 0.3, math.nan])
    one = summarize(per_query, interval_over="queries")
    assert one.mean == pytest.approx(0.2)
    assert one.ci95 == pytest.approx(4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert (one.n_seeds, one.n_queries, one.n_dropped, one.interval_over) == (1, 4, 1, "queries")
    assert math.isnan(summarize(per_query).ci95)
    # a second seed that is shifted moves the mean, and leaves the spread of the queries alone
    two = summarize(torch.from_numpy(np.stack([per_query, per_query + 0.4])), interval_over="queries")
    assert two.mean == pytest.approx(0.4) and two.ci95 == pytest.approx(one.ci95)


def test_summarize_drops_a_seed_without_values():
    summary = summarize([np.array([math.nan, math.nan]), np.array([0.2, 0.4]), torch.tensor([0.5])])
    assert (summary.n_seeds, summary.n_queries, summary.n_dropped) == (2, 2, 2)
    assert summary.mean == pytest.approx(0.4) and math.isnan(summary.per_seed[0])


@pytest.mark.parametrize("per_query", [[], [[]], np.zeros((2, 2, 2)), np.zeros((0, 3))])
def test_summarize_refuses_other_shapes(per_query):
    with pytest.raises(InvalidInput, match="queries"):
        summarize(per_query)


def test_summarize_refuses_intervals_it_cannot_give():
    with pytest.raises(InvalidInput, match="seeds"):
        summarize([[0.1, 0.2], [0.3]], interval_over="queries")
    with pytest.raises(InvalidInput, match="choose"):
        summarize([[0.1]], interval_over="candidates")
