"""What proves a claim by the settings of the program: the numbers that it prints, read where they decide."""

from __future__ import annotations

import tomllib
from inspect import signature
from math import isqrt

from engine.analysis.subset_bank import Draw
from engine.applications.language import sketching
from engine.curvature import dense
from engine.data import image_folder, load
from engine.desk import memory, spot_check
from engine.exact import newton
from engine.experiments import EXPERIMENTS
from engine.models import softmax
from engine.models.causal import passes
from engine.scoring import controlled, verdict
from tests.guides.claims.predicates import ROOT, Found, claim


def preset(name: str, scale: str) -> dict:
    return EXPERIMENTS[name].presets[scale].settings


def small(value: float) -> str:
    """`1e-8`, without a zero before the digit."""
    return f"{value:.0e}".replace("e-0", "e-")


def recipe(name: str, scale: str) -> list[dict]:
    return [source["recipe"] for source in preset(name, scale)["sources"]]


@claim
def noisy_labels_at_the_desk() -> Found:
    (source,) = preset("table-5-1", "desk")["sources"]
    trusted = 10 * source["trusted"]
    return [f"{50_000 - trusted:,}", f"{trusted:,}", str(source["recipe"]["epochs"])]


@claim
def epochs_of_rates_and_networks() -> Found:
    (epochs,) = {own["epochs"] for name in ("table-a8", "table-a9") for own in recipe(name, "desk")}
    return [str(epochs)]


@claim
def searches_of_the_cnn() -> Found:
    searched = preset("table-a7", "desk")["searched"]
    return [f"{searched['n_train']:,}", str(searched["n_candidates"])]


@claim
def the_small_cnn() -> Found:
    source = preset("table-a7", "small")["source"]
    side = 32 // source["pool"]
    return [str(side), str(side), str(source["n_train"])]


@claim
def noisy_labels_at_the_small_scale() -> Found:
    pictures, digits, clothing = (preset(name, "small")["sources"][0]
                                  for name in ("table-5-1", "table-a9", "table-a10"))
    side = str(32 // pictures["pool"])
    return [f"{pictures['n_train']:,}", side, side, f"{digits['n_train']:,}", f"{clothing['n_train']:,}"]


@claim
def records_of_the_small_scale() -> Found:
    counted = {sum(preset(name, "small")["task"][kind] for kind in kinds) for name, kinds in (
        ("table-5-2", ("clean", "poison", "benign")), ("figure-5-2", ("clean", "answer", "rationale")))}
    return [str(count) for count in counted]


@claim
def memory_of_the_server() -> Found:
    return [f"{memory.DEFAULT:g}"]


@claim
def size_of_an_upload() -> Found:
    options = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    return [str(options["server"]["maxUploadSize"])]


@claim
def the_extract() -> Found:
    dataset = load("fashion_small")
    side = str(isqrt(dataset.raw_train[0].size))
    return [f"{len(dataset.y_train):,}", str(len(dataset.y_test)), side, side]


@claim
def usual_sizes_of_pictures() -> Found:
    color, grey = (str(image_folder.USUAL_SIZES[kind]) for kind in ("rgb", "grayscale"))
    return [color, color, grey, grey]


@claim
def usual_sizes_by_name() -> Found:
    return [str(image_folder.PHOTO_SIZE), *(str(image_folder.USUAL_SIZES[kind]) for kind in ("rgb", "grayscale"))]


@claim
def tolerance_of_training() -> Found:
    return [f"{softmax.GRADIENT_TOLERANCE:.0e}"]


@claim
def tolerance_of_optima() -> Found:
    return [f"{newton.TOLERANCE:.0e}"]


@claim
def parameters_of_a_factorisation() -> Found:
    return [f"{dense.LIMIT:,}"]


@claim
def solves_of_a_local_response() -> Found:
    return [f"{dense.LIMIT:,}", small(dense.BOUND)]


@claim
def distance_of_the_same_scores() -> Found:
    return [small(verdict.CLOSE), f"{verdict.CLOSE_ORDER:g}"]


@claim
def a_spot_check_within_a_minute() -> Found:
    return signature(spot_check.spot_checked).parameters["most_seconds"].default == 60


@claim
def models_of_a_datamodel() -> Found:
    return [str(Draw().count)]


@claim
def target_of_a_projection() -> Found:
    return [f"{sketching.TARGET:g}"]


@claim
def tokens_of_a_batch() -> Found:
    return [*(f"{4 * passes.ROOM[kind] >> 20}" for kind in ("cpu", "cuda")), f"{passes.TOKENS['cpu']:,}"]


@claim
def iterations_of_a_search() -> Found:
    return [str(controlled.ITERATIONS)]
