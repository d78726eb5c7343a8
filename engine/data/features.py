"""The columns of a user's table as numbers: what is done with each kind of column, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.basics.delimited import SPACES
from engine.basics.errors import InvalidInput
from engine.data.arrays import HUGE

if TYPE_CHECKING:
    import pandas as pd

NUMBERS, DATES, CATEGORIES, TEXTS, LISTS, EMPTY, NAMES = (
    "numbers", "dates", "categories", "texts", "lists of numbers", "empty", "names")
_DAYS = {"%d.%m.%Y": "", "%m/%d/%Y": "the month before the day", "%d/%m/%Y": "the day before the month"}
DAY_FORMATS = {"ISO8601": "", **{f"{day.replace('%Y', year)}{time}": said for year in ("%Y", "%y")
                                 for day, said in _DAYS.items() for time in ("", " %H:%M", " %H:%M:%S")}}
"""How dates are written -> what is said of it."""
MISSING = ("", "?", "-", "–", "—", "n.a.", "N/A", "missing", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?")
"""What people and Excel write into an empty cell of a column of numbers, beside what pandas takes as empty."""
MARKS = {".": f",'’{SPACES}", ",": f".'’{SPACES}"}
"""What stands before decimals -> what stands between thousands."""
WRITTEN = {point: re.compile(rf"[$€£¥]?[{SPACES}]?[+−-]?(\d{{1,3}}([{marks}]\d{{3}})+|\d+)?([{point}]\d+)?"
                             rf"([eE][+-]?\d+)?[{SPACES}]?[%€]?") for point, marks in MARKS.items()}
LIST = re.compile(r"\[[-+.,\deE\s]+\]")
MOST_CATEGORIES, MOST_WORDS, WORDS_OF_A_TEXT = 50, 200, 4.0


@dataclass(frozen=True)
class Features:
    """x (n, d) float64. said: what was done with the columns, in sentences; empty where all are plain numbers. texts:
    what the columns of texts say, one text a row; None where there is no such column."""

    x: np.ndarray
    said: tuple[str, ...]
    texts: tuple[str, ...] | None = None


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    """What each column holds. Raises `InvalidInput` for columns of objects."""
    return _kinds(_numbers_as_written(frame)[0])


def features(frame: pd.DataFrame, train: np.ndarray, kinds: Mapping[str, str] | None = None) -> Features:
    """The columns of a frame as numbers; what is fitted is fitted to the rows `train`. kinds: what its columns hold, by
    default what its own rows say.

    Numbers (true and false are 1 and 0), dates (days since 1970, month, weekday) and lists of numbers are
    standardised, z = (x − mean)/std, after the median of the training rows filled what is empty; categories are one
    column a value, texts one a frequent word by tf–idf. Raises `InvalidInput` for columns of objects, for infinite or
    huge numbers, and where nothing is left.
    """
    if not len(frame.columns):
        raise InvalidInput("The table has no features; give columns of numbers or texts in addition to the label.")
    frame, written = _numbers_as_written(frame)
    kinds = _kinds(frame) if kinds is None else kinds
    of = {kind: [column for column, own in kinds.items() if own == kind] for kind in dict.fromkeys(kinds.values())}
    if of.keys() <= {EMPTY, NAMES} and (short := [one for one in of.get(NAMES, []) if _has_words(frame[one])]):
        of |= {TEXTS: short, NAMES: [one for one in of[NAMES] if one not in short]}
    gone = {kind: columns for kind in (EMPTY, NAMES) if (columns := of.pop(kind, []))}
    if not of:
        raise InvalidInput("No column of the table can be read as features: all are empty, or name each row; give "
                           "columns of numbers.")
    numeric = {f"{kind}:{column}": (_numeric(frame[column], kind, str(column)))
               for kind in (NUMBERS, DATES, LISTS) for column in of.get(kind, [])}
    parts = [_standardised(_filled(np.concatenate(list(numeric.values()), 1), train), train)] if numeric else []
    parts += [_fitted(kind, frame[column], train) for kind in (CATEGORIES, TEXTS) for column in of.get(kind, [])]
    filled = [column for column in of.get(NUMBERS, []) + of.get(DATES, []) if frame[column].isna().any()]
    return Features(np.concatenate(parts, 1), (*written, *_ambiguous(frame[of.get(DATES, [])]),
                                               *_said(of, gone, filled, len(frame))), _joined(frame[of.get(TEXTS, [])]))


def _joined(columns: pd.DataFrame) -> tuple[str, ...] | None:
    """The texts of each row, one below the other."""
    if not len(columns.columns):
        return None
    return tuple("\n".join(row) for row in zip(*(_as_texts(columns[column]) for column in columns), strict=True))


def _has_words(values: pd.Series) -> bool:
    """Whether most texts are of several words."""
    return bool(values.dropna().astype(str).str.contains(r"\S\s+\S").mean() > 0.5)


def _as_texts(values: pd.Series) -> list[str]:
    return ["" if value is None else str(value) for value in values.astype(object).where(values.notna(), None)]


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    return {column: _kind(frame[column]) for column in frame.columns}


def _numbers_as_written(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Columns of texts that are numbers as people write them (`1,234`, `1 234,5`, `12%`, `?` for an empty cell) as
    numbers, or lists of numbers as programs print them as lists, and which the former are, as a sentence."""
    import pandas as pd

    read, lists = dict[str, Any](), dict[str, Any]()
    for column in frame.columns:
        texts = frame[column].dropna()
        if not len(texts) or not all(isinstance(value, str) for value in texts) or _is_numeric(texts):
            continue
        known = texts[~texts.str.strip().isin(MISSING)].str.strip()
        if point := _point(known):
            plain = known.str.replace("−", "-").str.replace(rf"[$€£¥%{MARKS[point]}]", "", regex=True)
            read[column] = plain.str.replace(point, ".").astype(np.float64).reindex(frame.index)
        elif len(known) == len(frame) and all(rows := [_list(text) for text in known]):
            lists[column] = pd.Series(rows, frame.index)
    said = f"{_names(list(read))} {'is' if len(read) == 1 else 'are'} read as numbers, without the signs around them."
    return frame.assign(**read, **lists), (said,) if read else ()


def _point(texts: pd.Series) -> str:
    """What stands before the decimals of texts that all are numbers as people write them; empty where they are not."""
    return next((point for point, written in WRITTEN.items() if len(texts) and texts.map(
        lambda text, written=written: bool(written.fullmatch(text) and re.search(r"\d", text))).all()), "")


def _list(text: str) -> list[float]:
    """The numbers of a list as Python and NumPy print it; none where it is something else."""
    try:
        return [float(word) for word in text[1:-1].replace(",", " ").split()] if LIST.fullmatch(text) else []
    except ValueError:
        return []


def _ambiguous(dates: pd.DataFrame) -> tuple[str, ...]:
    """Which of day and month comes first in columns of dates where that is not plain, as sentences."""
    ways = {column: DAY_FORMATS[form] for column in dates.columns if dates[column].dtype.kind != "M"
            and (form := _form(dates[column].dropna().astype(str)))}
    return tuple(f"`{str(column)[:40]}` is read with {how}." for column, how in ways.items() if how)


def _kind(values: pd.Series) -> str:
    import pandas as pd

    known = values.dropna()
    if not len(known):
        return EMPTY
    if isinstance(values.dtype, pd.CategoricalDtype):
        return CATEGORIES
    if values.dtype.kind in "biuf":
        return NUMBERS
    if values.dtype.kind == "M":
        return DATES
    first = known.iloc[0]
    if isinstance(first, (list, tuple, np.ndarray)):
        return LISTS
    if values.dtype.kind in "mc" or isinstance(first, (dict, bytes)):
        raise InvalidInput(f"The column `{str(values.name)[:60]}` holds neither numbers nor texts; leave it out. "
                           "Images are read from a zip or a folder.")
    if _is_numeric(known):
        return NUMBERS
    texts = known.astype(str)
    if _dates(texts) is not None:
        return DATES
    distinct = texts.nunique()
    if distinct <= MOST_CATEGORIES and distinct <= max(2, len(texts) // 2):
        return CATEGORIES
    return TEXTS if texts.str.count(r"\s+").mean() + 1 >= WORDS_OF_A_TEXT else NAMES


def _is_numeric(known: pd.Series) -> bool:
    import pandas as pd

    try:
        pd.to_numeric(known)
    except (ValueError, TypeError):
        return False
    return True


def _dates(texts: pd.Series) -> pd.Series | None:
    """Texts as dates, where all of them are in one of `DAY_FORMATS`."""
    import pandas as pd

    form = _form(texts)
    return None if form is None else pd.to_datetime(texts, format=form, utc=True)


def _form(texts: pd.Series) -> str | None:
    """The first of `DAY_FORMATS` in which all texts are."""
    import pandas as pd

    if not texts.str.match(r"\s*\d{1,4}[-./]\d").all():
        return None
    return next((form for form in DAY_FORMATS
                 if pd.to_datetime(texts, format=form, errors="coerce", utc=True).notna().all()), None)


def _numeric(values: pd.Series, kind: str, name: str) -> np.ndarray:
    """A column of numbers, dates or lists as (n, k) float64, NaN where it is empty."""
    import pandas as pd

    if kind == LISTS:
        return _stacked(values, name)
    if kind == DATES:
        known = values.dropna()
        days = known if known.dtype.kind == "M" else _dates(known.astype(str))
        assert days is not None, "a column of dates"
        days = pd.to_datetime(days, utc=True).reindex(values.index)
        since = (days.dt.as_unit("us") - pd.Timestamp(0, tz="UTC").as_unit("us")) / pd.Timedelta(days=1)
        return np.stack([since, days.dt.month, days.dt.weekday], 1).astype(np.float64)
    x = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    _check_finite(x, name)
    return x


def _stacked(values: pd.Series, name: str) -> np.ndarray:
    try:
        x = np.stack([np.asarray(value, dtype=np.float64) for value in values])
        if x.ndim != 2:
            raise ValueError("lists of lists")
    except (ValueError, TypeError):
        raise InvalidInput(f"The lists in the column `{name[:60]}` differ in length or hold no numbers; give one list "
                           "of numbers per row, all of one length.") from None
    _check_finite(x, name)
    if np.isnan(x).any():
        raise InvalidInput(f"A list in the column `{name[:60]}` has an empty number; fill it.")
    return x


def _check_finite(x: np.ndarray, name: str) -> None:
    if (bad := np.abs(x) > HUGE).any():
        row = int(np.argmax(bad.any(axis=1)))
        raise InvalidInput(f"The column `{name[:60]}` has an infinite or huge number in row {row:,}; correct it.")


def _filled(x: np.ndarray, train: np.ndarray) -> np.ndarray:
    from sklearn.impute import SimpleImputer

    if not np.isnan(x).any():
        return x
    return SimpleImputer(strategy="median", keep_empty_features=True).fit(x[train]).transform(x)


def _standardised(x: np.ndarray, train: np.ndarray) -> np.ndarray:
    scale = x[train].std(0)
    return (x - x[train].mean(0)) / np.where(scale > 0, scale, 1.0)


def _fitted(kind: str, values: pd.Series, train: np.ndarray) -> np.ndarray:
    """Categories or texts as numbers, by what occurs in the training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import OneHotEncoder

    texts = np.array(_as_texts(values), dtype=object)
    if kind == TEXTS:
        try:
            encoder: Any = TfidfVectorizer(max_features=MOST_WORDS).fit(texts[train])
        except ValueError:  # no word in any of them
            raise InvalidInput(f"The column `{str(values.name)[:60]}` holds texts without a word in the training rows; "
                               "leave it out.") from None
        return encoder.transform(texts).toarray()
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(texts[train, None])
    return encoder.transform(texts[:, None])


def _said(of: dict[str, list], gone: dict[str, list], filled: Sequence[str], n: int) -> tuple[str, ...]:
    how = {DATES: "dates, as days since 1970, month and weekday", CATEGORIES: "categories, one column per value",
           TEXTS: f"texts, by their {MOST_WORDS} most frequent words (tf–idf)", LISTS: "lists of numbers"}
    sentences = [f"{_names(columns)} {'is' if len(columns) == 1 else 'are'} read as {how[kind]}."
                 for kind, columns in of.items() if kind in how]
    if filled:
        sentences.append(f"Empty cells of {_names(filled)} are filled with the median of the training rows.")
    why = {EMPTY: "no value in any row", NAMES: "a different text in nearly every row"}
    return (*sentences, *(f"{_names(columns)} {'has' if len(columns) == 1 else 'have'} {why[kind]} and "
                          f"{'is' if len(columns) == 1 else 'are'} left out." for kind, columns in gone.items()))


def _names(columns: Sequence[object]) -> str:
    shown = ", ".join(f"`{str(one)[:40]}`" for one in columns[:8])
    return shown + (f" and {len(columns) - 8:,} more" if len(columns) > 8 else "")
