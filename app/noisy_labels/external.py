"""Scores of other programs on the Noisy labels page: one for each label, ranked and measured alongside the methods."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.widgets.choices import choice
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from engine.basics.errors import WhichfluenceError
from engine.basics.values import signed
from engine.desk import noisy_labels as searches
from engine.desk.external import MOST_BYTES, READERS
from engine.desk.noisy_labels import ExternalSettings, NoisyData, Scored, external

NAME, ROUND = "theirs", "labels:round"
KINDS = [suffix.removeprefix(".") for suffix in READERS]


def chosen() -> list[ExternalSettings]:
    """The scores that the address names, with their names and signs."""
    return choice.several(NAME, external.settings_in)


def joined(sample: NoisyData, scored: Scored) -> Scored:
    """The search with the scores that can be read; a warning for each of the others."""
    for settings in chosen():
        try:
            scored = external.with_external(scored, sample, [settings])
        except WhichfluenceError as error:
            st.warning(sentence(str(error)), icon=":material/link_off:")
    return scored


def show(sample: NoisyData, scored: Scored) -> None:
    """Takes files in, asks for the direction that the consensus does not tell, and lists what is there."""
    listed = chosen()
    with st.expander("Scores of other programs", icon=":material/upload_file:", expanded=False), guarded(
            "The scores of other programs"):
        glossary.caption(f"One number for each of the {len(sample.evidence.y):,} labels, such as a self-influence or a "
                         "data value: in the order of the training set, or with its rows. It is ranked and measured "
                         "alongside the methods.")
        turn = st.session_state.get(ROUND, 0)
        label = "Files with scores"
        files = st.file_uploader(label, type=KINDS, key=f"labels:file:{turn}", accept_multiple_files=True,
                                 help=glossary.hint(label, f"{', '.join(KINDS)}, up to {MOST_BYTES // 1_000_000} MB "
                                                           "each; never unpickled."))
        names = searches.names_of_files([*(one.title for one in listed), *(file.name for file in files)])[len(listed):]
        ready = [_settings(file, name, sample, scored) for file, name in zip(files, names, strict=True)]
        if ready and None not in ready:
            choice.keep(NAME, [*choice.texts(NAME), *(one.text for one in ready if one is not None)])
            st.session_state[ROUND] = turn + 1
            st.rerun()
        for settings in listed:
            _listed(settings)


def _settings(file: UploadedFile, name: str, sample: NoisyData, scored: Scored) -> ExternalSettings | None:
    """What a file holds, stored; None where it cannot be read, or while the reader is asked for its direction."""
    try:
        held = external.matched(sample, searches.read_table(file, file.name), file.name)
    except WhichfluenceError as error:
        st.error(sentence(f"{file.name}: {error}"), icon=":material/error:")
        return None
    direction = external.direction(scored, held)
    sign = direction.sign or st.radio(f"{file.name}: {direction.sentence}", list(external.MEANING), index=None,
                                      format_func=external.MEANING.get, key=f"labels:sign:{file.name}")
    if sign is None:
        return None
    searches.external_scores.keep(held)
    return external.settings_of(held, name, sign, direction)


def _listed(settings: ExternalSettings) -> None:
    by = "the consensus of the methods" if settings.decided == "data" else "you"
    tau = "" if settings.tau is None else f", τ = {signed(settings.tau, 2, '+')} with the consensus"
    with st.container(horizontal=True, vertical_alignment="center"):
        glossary.markdown(f"**{plain(settings.title)}**: {external.MEANING[settings.sign]} (decided by {by}{tau})")
        st.button("Leave out", icon=":material/close:", key=f"labels:leave:{settings.scores[:12]}", on_click=_leave_out,
                  args=(settings.text,))


def _leave_out(text: str) -> None:
    choice.keep(NAME, [other for other in choice.texts(NAME) if external.settings_in(other).text != text])
