"""What the Noisy labels page searches, chosen in the sidebar: data, noise, trusted set and model."""

from __future__ import annotations

import streamlit as st

from app.widgets import choice, glossary, labels, pickers
from engine import data
from engine.applications.noisy_labels.source import SMALL_RECIPE, NoisySource
from engine.data import uploads
from engine.models.cifar_forms import FORMS

SIZES = ("labels", "trusted", "epochs", "judge", "noise")
MODELS = ("cnn", "mlp", "linear", *FORMS)
POOL = {"cifar10": 2, "fashion_mnist": 2}
"""Small models read large pictures averaged over squares of so many pixels, so that they train in seconds."""
DEFAULTS = {"digits": (1_000, 20, 15), "fashion_mnist": (2_000, 50, 15), "cifar10": (2_000, 50, 25)}
"""Training examples, trusted examples a class, epochs."""
MOST_TEST = 2_000
NOISE_STEPS = [place / 20 for place in range(13)]


def picker() -> NoisySource:
    """The sidebar; returns what it chose. Raises the engine's error where the data cannot be had."""
    with st.sidebar:
        name = pickers.dataset_picker(SIZES)
        pickers.upload()
        dataset = data.load(name)
        own = uploads.is_upload(name)
        noise = _noise(own, dataset.flags is not None)
        st.markdown("#### Model")
        model = _model(dataset)
        pool = 1 if model in FORMS or own else POOL.get(name, 1)
        if pool > 1:
            glossary.caption(
                f"It reads the pictures averaged over {pool} × {pool} squares, so that it trains in seconds.")
        if model in FORMS:
            glossary.caption("This network wants a GPU: on two processor cores an epoch takes minutes.")
        with st.expander("Sizes and seeds"):
            trusted, n_train, epochs = _sizes(dataset, own)
            mask = pickers.number("mask", "seed of draw, trusted set and noise", 0, 0, 1_000_000,
                                  "Fixes which labels are wrong. Another training seed keeps them.")
            seed = pickers.number("tseed", "seed of the training", 0, 0, 1_000_000)
    rest = len(dataset.y_test) - (dataset.n_classes * trusted if own else 0)
    return NoisySource(dataset=name, n_train=n_train, n_test=max(1, min(MOST_TEST, rest)), trusted=trusted, pool=pool,
                       noise=noise, mask=mask, model=model, seed=seed,
                       recipe=SMALL_RECIPE.model_copy(update={"epochs": epochs,
                                                              "checkpoints": min(4, epochs)}))


def _noise(own: bool, known: bool) -> float:
    key = choice.bound("noise", 0.0 if own else 0.2, choice.within(0.0, 0.6, float))
    if st.session_state[key] not in NOISE_STEPS:
        st.session_state[key] = min(NOISE_STEPS, key=lambda step: abs(step - st.session_state[key]))
    noise = st.select_slider("Labels made wrong", NOISE_STEPS, key=key, format_func=lambda value: f"{value:.0%}",
                             help="Symmetric noise: each chosen label becomes another class, all as likely. "
                                  "0% searches the labels as they came.")
    choice.keep("noise", noise)
    if noise == 0:
        glossary.caption(
            "Labels as they came" + ("; your file says which are wrong, so detection can be measured." if known
                                     else "; nobody says which are wrong, so detection cannot be measured."))
    return noise


def _model(dataset: data.Dataset) -> str:
    shape = dataset.image_shape
    fits = [name for name in MODELS if (shape is not None or name in ("mlp", "linear"))
            and (shape is None or name not in FORMS or min(shape[:2]) >= (32 if name.startswith("vgg") else 8))]
    key = choice.bound("judge", fits[0], choice.from_options(fits))
    if st.session_state[key] not in fits:
        st.session_state[key] = fits[0]
    model = st.selectbox("Model that judges", fits, key=key, format_func=labels.model_heading)
    choice.keep("judge", model)
    return model


def _sizes(dataset: data.Dataset, own: bool) -> tuple[int, int, int]:
    import numpy as np

    verified = dataset.y_test if own else dataset.y_train
    scarcest = int(np.bincount(verified, minlength=dataset.n_classes).min())
    most = max(1, scarcest // 2)
    wanted, per_class, epochs = DEFAULTS.get(dataset.name, (2_000, 20, 20))
    trusted = pickers.number("trusted", "trusted examples of each class", min(per_class, most), 1, most,
                             "Verified examples that the scores refer to: "
                             + ("a part of your test split." if own else "drawn beside the training set."))
    available = len(dataset.y_train) - (0 if own else dataset.n_classes * trusted)
    train = pickers.number("labels", "training labels to search", min(wanted, available), 2, available)
    return trusted, train, pickers.number("epochs", "epochs of training", epochs, 1, 200)
