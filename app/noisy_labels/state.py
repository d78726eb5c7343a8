"""What the Noisy labels page searches and shows, chosen and kept in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.choices.pair_choice import PairChoice
from app.widgets.choices.selectors import pick, segments, toggle
from app.widgets.pickers import pickers, upload
from app.widgets.words import glossary, labels
from engine.desk import datasets
from engine.desk.models import FORMS, OWN, own_models
from engine.desk.noisy_labels import (
    CONSENSUS,
    IN_DOUBT,
    IN_TURN,
    NOISE,
    REGRESSIONS,
    SEARCH,
    SMALL_RECIPE,
    VERIFIED,
    NoisySource,
    Pair,
    learner,
    limits,
    usual_model,
)
from engine.metrics import detection
from engine.metrics.detection import precision_title

VIEWS = {"detection": "Detection", "desk": "Review desk", "whatif": "What if"}
UNMEASURED = {"desk": "Review desk", "agreement": "Agreement", "whatif": "What if"}
"""Where nobody knows which labels are wrong, nothing can be detected: the page is the review desk."""
WAYS = {"review": "My decisions", "top": "The most suspicious"}
PAIR, AT, PAGE, VIEW = "by", "at", "page", "view"
OPENED = PairChoice("rankings", "labels")
"""The two rankings that the heatmap has opened."""
SPOILED, DOUBTED = "spoil", "doubt"
"""Consents of the reader, each kept as the name of the data that it was given for, so that it holds for no other."""
DEFAULT = CONSENSUS
FRACTIONS = (*detection.FRACTIONS, 0.2)
FILTERS = ("named", "given", "guessed", "agree")
"""The filters of the desk: file name, given label, what the model says, agreement of methods."""
SIZES = ("labels", "trusted", "epochs", "judge", "noise")
MODELS = (*OWN, *FORMS)
POOL = {"cifar10": 2, "fashion_mnist": 2, "fashion_small": 2}
"""Small models read large pictures averaged over squares of so many pixels, so that they train in seconds."""
DEFAULTS = {"digits": (20, 15), "fashion_small": (20, 15), "fashion_mnist": (50, 15), "cifar10": (50, 25)}
"""Trusted examples a class, epochs."""
MOST_TEST = 2_000
FOLDS = 4
NOISE_STEPS = [index / 20 for index in range(13)]


def source() -> NoisySource:
    """The sidebar; returns what it chose. Raises the engine's error where the data cannot be had."""
    with st.sidebar:
        name = pickers.dataset_picker((*SIZES, *FILTERS, AT), texts=False)
        upload.show(texts=False)
        dataset = datasets.load(name)
        dataset.check_classes(SEARCH)
        own = datasets.is_upload(name)
        noise = _corruption_rate(dataset, own)
        doubted = _doubted(dataset, own)
        st.markdown("#### Model")
        model = _model(dataset, own)
        pool = 1 if model in (*FORMS, *REGRESSIONS) or own else POOL.get(name, 1)
        if pool > 1:
            glossary.caption(
                f"It reads the images averaged over {pool} × {pool} squares, so that it trains in seconds.")
        if model in FORMS:
            glossary.caption("This network needs a GPU: on two CPU cores an epoch takes minutes.")
        with st.expander("Sizes and seeds"):
            in_turn = own and limits.goes_in_turn(dataset) and not doubted
            trusted, n_train, epochs = _sizes(dataset, own, in_turn, learner(model).passes)
            mask = pickers.number("mask", "seed of the sample, the trusted set and the noise", 0, 0, 1_000_000,
                                  "Determines which labels are wrong; the training seed does not change them.")
            seed = pickers.number("tseed", "training seed", 0, 0, 1_000_000)
    tested = None if in_turn else min(MOST_TEST, limits.most_tested(dataset, own, trusted))
    folds = limits.most_folds(dataset, learner(model).folds) if in_turn else FOLDS
    return NoisySource(dataset=name, n_train=n_train, n_test=tested, trusted=trusted, pool=pool, noise=noise,
                       trusted_from=IN_DOUBT if doubted else IN_TURN if in_turn else VERIFIED, folds=folds, mask=mask,
                       model=model, seed=seed,
                       recipe=SMALL_RECIPE.model_copy(update={"epochs": epochs,
                                                              "checkpoints": min(4, epochs)}))


def _corruption_rate(dataset: datasets.Dataset, own: bool) -> float:
    """The fraction of labels to corrupt; of a user's own none, unless the reader switches it on for these data."""
    known = dataset.flags is not None
    if own and not _consent(SPOILED, dataset.name, "Corrupt some labels, to test the methods",
                            "Corrupts labels in a copy of your data, to measure how well the methods "
                            "detect them. Off by default: your labels are not changed."):
        return _as_they_came(known)
    return _noise(known)


def _doubted(dataset: datasets.Dataset, own: bool) -> bool:
    """Whether a part of the labels in doubt is trusted, where there are no others and the reader says so."""
    return own and dataset.test_from_train and _consent(
        DOUBTED, dataset.name, "Trust some of the unverified labels",
        "Your data have no verified labels, so every label is searched by cross-validation, with each fold held out "
        "once. If this is on, one model is trained and some unverified labels are treated as trusted: faster, but "
        "these are not searched.")


def _consent(choice_name: str, dataset: str, label: str, help: str) -> bool:
    """A switch that is off until the reader turns it on for these data."""
    key = f"{choice.widget(choice_name)}:{dataset}"
    on = st.toggle(label, value=choice.texts(choice_name) == [dataset], key=key, help=help)
    choice.keep(choice_name, dataset if on else [])
    return on


def _noise(known: bool) -> float:
    key = choice.bound("noise", NOISE, choice.within(0.0, 0.6, float))
    if st.session_state[key] not in NOISE_STEPS:
        st.session_state[key] = min(NOISE_STEPS, key=lambda step: abs(step - st.session_state[key]))
    noise = inputs.select_slider("Corrupted labels", NOISE_STEPS, key=key, format_func=lambda value: f"{value:.0%}",
                                 help="Symmetric noise: each sampled label becomes a different class, chosen "
                                      "uniformly. 0% searches the labels as given.")
    choice.keep("noise", noise)
    return noise if noise else _as_they_came(known)


def _as_they_came(known: bool) -> float:
    """No label is corrupted; says what follows."""
    glossary.caption(
        "Labels as given" + ("; your file says which are wrong, so detection can be measured." if known
                                 else "; it is unknown which ones are wrong, so detection cannot be measured."))
    return 0.0


def _model(dataset: datasets.Dataset, own: bool) -> str:
    shape = dataset.image_shape
    usual = usual_model(dataset)
    fits = [name for name in (*REGRESSIONS, *MODELS, *own_models())
            if (name == usual if name in REGRESSIONS else shape is not None or name in ("mlp", "linear"))
            and (shape is None or name not in FORMS or min(shape[:2]) >= (32 if name.startswith("vgg") else 8))]
    model = pick("judge", "Model", fits, usual if own else fits[1], labels.model_heading)
    if said := learner(model).sentence:
        glossary.caption(said)
    return model


def _sizes(dataset: datasets.Dataset, own: bool, in_turn: bool, passes: bool) -> tuple[int, int, int]:
    """Trusted examples of each class, labels to search and epochs; by default all labels are searched. passes:
    whether the model is trained for a number of epochs."""
    most = limits.most_trusted(dataset, own)
    per_class, epochs = DEFAULTS.get(dataset.name, (20, 20))
    if in_turn:
        whole = limits.most_in_turn(dataset)
        train = pickers.number("labels", "training labels to search", whole, 2, whole)
        return 1, train, _epochs(epochs, passes)
    trusted = pickers.number("trusted", "trusted examples of each class", min(per_class, most), 1, most,
                             "Verified examples that the scores refer to: "
                             + (_own_trusted(dataset) if own else "sampled in addition to the training set."))
    available = limits.most_searched(dataset, own, trusted)
    train = pickers.number("labels", "training labels to search", available, 2, available)
    return trusted, train, _epochs(epochs, passes)


def _epochs(usual: int, passes: bool) -> int:
    return pickers.number("epochs", "epochs of training", usual, 1, 200) if passes else usual


def _own_trusted(dataset: datasets.Dataset) -> str:
    return "some of the unverified labels." if dataset.test_from_train else "some of your test split."


def view(measured: bool) -> str:
    """Which view of the page is shown. measured: whether it is known which labels are wrong."""
    views = VIEWS if measured else UNMEASURED
    first = next(iter(views))
    if choice.texts(VIEW)[-1:] in ([view] for view in {*VIEWS, *UNMEASURED} - set(views)):  # of other data
        choice.put(VIEW, first)
    return segments(VIEW, "View", list(views), first, views.get, label_visibility="collapsed")


def pair(pairs: Sequence[Pair]) -> Pair:
    """Method and trusted behavior."""
    by_title = {pair.title: pair for pair in pairs}
    by_title = {title: by_title[title] for title in sorted(by_title, key=lambda title: title != DEFAULT.title)}
    default = next(iter(by_title))
    return by_title[pick(PAIR, "Method and trusted behavior", list(by_title), default, str, help=glossary.hint(
        "behavior", "A method ranks the labels. If it reads a behavior of the trusted examples, the behavior is part "
                    "of the question: a different one gives a different ranking."))]


def take_click(names: Sequence[str]) -> None:
    """Open the pair of a cell that was clicked; on the diagonal its ranking becomes the chosen one. Call before either
    is read."""
    clicked = OPENED.take_click(len(names))
    if clicked is not None and clicked[0] == clicked[1]:
        choice.put(PAIR, names[clicked[0]])


def to_the_desk(first: Pair, second: Pair) -> None:
    """Show the review desk with what the first ranking flags and the second does not."""
    choice.put(VIEW, "desk")
    choice.put(PAIR, first.title)
    choice.put("not", second.title)
    look_at(None)


def fraction() -> float:
    """How much of the ranking counts as flagged."""
    titles = {precision_title(fraction).removeprefix("P@"): fraction for fraction in FRACTIONS}
    title = segments("k", "Most suspicious", list(titles), "5%", str,
                     help="The fraction of all labels, from the top of the ranking, that is flagged.")
    return titles[title]


def metric(names: Sequence[str]) -> str:
    """Which measure the table of pairs shows."""
    return segments("metric", "Measure", list(names), names[0], str, label_visibility="collapsed")


def but_not(others: Sequence[Pair]) -> Pair | None:
    """Another ranking, whose flagged examples are left out; None for no filter."""
    by_title = {"": None, **{other.title: other for other in others}}
    return by_title[pick("not", "but not flagged by", list(by_title), "", lambda text: text or "(no filter)",
                         help="Excludes examples that the other ranking flags at the same fraction.")]


def hide_decided() -> bool:
    """Whether what is decided is left out of the queue."""
    return toggle("hide", "Hide decided examples")


def focus(rows: Sequence[int], undecided: Sequence[int]) -> int | None:
    """The example in focus: the one in the address, else the first that is not decided."""
    wanted = choice.one(AT, None, choice.within(0, 10**9))
    return wanted if wanted in rows else next(iter(undecided), None)


def look_at(row: int | None) -> None:
    """Put an example in focus; None leaves the choice to `focus`."""
    choice.keep(AT, [] if row is None else row)


def page_of(pages: int, home: int | None, focus: int | None) -> int:
    """Which page of the queue is shown, from 0: the chosen one, or where the example in focus has changed its `home`.

    home: the page on which that example stands; None where it stands on none.
    """
    page = min(pages, choice.one(PAGE, (home or 0) + 1, choice.within(1, 10**6))) - 1
    if home is not None and st.session_state.get("desk_focus") != focus:
        page = home
        turn_to(page)
    st.session_state["desk_focus"] = focus
    return page


def turn_to(page: int) -> None:
    """Show another page of the queue, from 0."""
    choice.keep(PAGE, page + 1)


def action() -> str:
    """What is changed before training again."""
    return segments("way", "Change", list(WAYS), "review", WAYS.get)


def seeds() -> int:
    """Over how many training seeds."""
    return pickers.number("wseeds", "training seeds", 3, 1, 20,
                          "Every seed trains twice, on the original and on the changed labels. The interval is over "
                          "seeds; with one seed there is none.")
