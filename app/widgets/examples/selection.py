"""What is selected, on every page: one training example and a group of them, by their rows in the sampled training set.

Both stand in the address and hold on over page changes; charts, lists and the fields here read and write them. The
query is a choice of its own, `query`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.examples import pictures, record_text
from app.widgets.words.plain_text import sentence
from engine.basics.errors import InvalidInput
from engine.desk import datasets
from engine.desk.datasets import Dataset, Sample

NAMES = EXAMPLE, GROUP = "example", "group"
"""Choices that other data, of which these rows mean something else, forget."""
MOST = 1_000
"""Examples in a group: an address has to hold them."""
PICTURES = 24
FIELD = "selection:group"
LONGEST = 24
"""Letters of a class in a field's example."""


def written(rows: Iterable[int]) -> str:
    """Rows as text, neighbours as ranges: `3-5,9`."""
    ranges: list[list[int]] = []
    for row in sorted(set(rows)):
        if ranges and row == ranges[-1][1] + 1:
            ranges[-1][1] = row
        else:
            ranges.append([row, row])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def read(text: str) -> tuple[int, ...]:
    """Rows out of an address, in order. Raises `InvalidInput` for what is no list of rows, or one of too many."""
    return datasets.rows_in(text, MOST)


def group() -> tuple[int, ...]:
    """The selected group, in order; empty without one."""
    return choice.one(GROUP, (), read)


def example() -> int | None:
    """The selected training example."""
    return choice.one(EXAMPLE, None, choice.within(0, 10**9))


def choose(row: int | None) -> None:
    """Select one training example, or none."""
    choice.keep(EXAMPLE, [] if row is None else row)


def gather(rows: Iterable[int]) -> None:
    """Make these the group; too many are refused in the next run."""
    rows = list(rows)
    if len(set(rows)) > MOST:
        st.session_state["selection:refused"] = len(set(rows))
        return
    choice.keep(GROUP, written(rows) if rows else [])


def fields(dataset: Dataset, sample: Sample) -> None:
    """The keyboard's and a program's way to both: a training example by its row, a group by its rows or a filter."""
    n = len(sample.y_train)
    key, chosen = "selection:example", example()
    for name, text in ((EXAMPLE, chosen), (GROUP, written(group()))):
        if text not in (None, ""):
            choice.keep(name, text)
    st.session_state[key] = chosen if chosen is not None and chosen < n else None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        inputs.number_input("Training example", 0, n - 1, key=key, step=1, width=170, placeholder="none",
                            on_change=_chosen, args=(key,), help="Its row in the sampled training set; clicking a dot "
                                                                 "selects it too.")
        fault = st.session_state.pop("selection:fault", None)
        if not fault:  # what is no group stays, to be mended
            st.session_state[FIELD] = written(group())
        inputs.text_input("Group of training examples", key=FIELD, width=330, on_change=_gathered,
                          args=(datasets.Filter.of(dataset, sample),),
                          placeholder=f"such as 3, 10-14, or {dataset.noun} = {example_of(dataset)}",
                          help="Rows and ranges of rows, or a filter; the lasso or box in a chart fills this field. "
                               + help_of(dataset))
        st.button("Clear", key="selection:clear", disabled=not group() and chosen is None, on_click=_clear)
    if fault:
        st.warning(fault, icon=":material/select_all:")
    refused = st.session_state.pop("selection:refused", None)
    if refused:
        st.warning(f"{refused:,} are marked. {datasets.too_many(MOST)}", icon=":material/select_all:")


def _chosen(key: str) -> None:
    choose(st.session_state[key])


def _gathered(listing: datasets.Filter) -> None:
    text = st.session_state[FIELD]
    try:
        gather(listing.rows(text) if text.strip() else ())
    except InvalidInput as error:
        st.session_state["selection:fault"] = sentence(error)


def example_of(dataset: Dataset) -> str:
    """A filter's text for the first class, whatever its name holds."""
    name = dataset.class_names[0].replace(datasets.AND, "?").replace(datasets.OR, "?")
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}*"


def help_of(dataset: Dataset) -> str:
    """What a filter of this data may say."""
    noun, one = dataset.noun, example_of(dataset)
    fields = "`prompt`, `response`, `answer`, `id` or `flag`" if dataset.records is not None else (
        "`label`, or `file` where the data came as files,")
    return sentence(f"A filter compares {fields} with a pattern in which `*` matches anything: `{noun} = {one}`. `|` "
                    "means or, `&` means and.")


def _clear() -> None:
    gather(())
    choose(None)


def shown(dataset: Dataset, sample: Sample) -> None:
    """The group by its pictures or words, the first of them."""
    rows = [row for row in group() if row < len(sample.y_train)]
    if not rows:
        return
    labels = [dataset.class_names[sample.y_train[row]] for row in rows]
    counts = {name: labels.count(name) for name in dict.fromkeys(labels)}
    st.html(f'<div class="wf-note">Group of {len(rows):,}: {_counted(counts)}</div>')
    if dataset.image_shape is not None:
        st.html('<div class="wf-group">' + "".join(
            pictures.html(dataset, "train", int(sample.train_index[row]), 40, f"training example {row}, label {name}")
            for row, name in zip(rows[:PICTURES], labels, strict=False)) + _more(rows) + "</div>")
    elif dataset.records is not None:
        records = (dataset.record("train", int(sample.train_index[row])) for row in rows[:PICTURES])
        st.html("".join(f'<div class="wf-note">{row}: {escape(record_text.short(record))}</div>'
                        for row, record in zip(rows, records, strict=False) if record is not None) + _more(rows))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} “{escape(name)}”" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]))


def _more(rows: list[int]) -> str:
    return f'<span class="wf-note">and {len(rows) - PICTURES:,} more</span>' if len(rows) > PICTURES else ""
