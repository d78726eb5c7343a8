"""A user's table written again with other labels and fewer rows; everything else stays as it came."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from engine.basics.delimited import dialect_of
from engine.basics.strict_json import in_utf8
from engine.data.frames import arrow_table


def rewritten(content: bytes, suffix: str, label: str, rows: Mapping[int, str | None]) -> bytes:
    """The table with the rows named alone, in their order, and the new label of each, None where its own stays.

    Labels keep the type of their column (true and false, numbers, dictionaries) where it holds the new ones, and
    become texts where it does not.
    """
    if suffix in (".parquet", ".arrow"):
        return _arrow(content, suffix, label, rows)
    return (_text if suffix in (".csv", ".tsv") else _json)(content, label, rows)


def _arrow(content: bytes, suffix: str, label: str, rows: Mapping[int, str | None]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = arrow_table(content, suffix)
    column = table.column(label)
    if any(rows.values()):
        own = column.to_pylist()
        by_text = {str(value): value for value in own}
        wanted = [own[row] if new is None else by_text.get(new, new) for row, new in rows.items()]
        try:
            values = pa.array(wanted, type=column.type)
        except (pa.ArrowException, TypeError, ValueError):
            values = pa.array([str(value) for value in wanted])
    else:
        values = column.take(list(rows))
    table = table.take(list(rows))
    table = table.set_column(table.schema.get_field_index(label), pa.field(label, values.type), values)
    sink = pa.BufferOutputStream()
    if suffix == ".parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _text(content: bytes, label: str, rows: Mapping[int, str | None]) -> bytes:
    """Rows that stay as they are byte for byte, with the line ends of the file."""
    dialect = dialect_of(content)
    heading = content.decode(dialect.encoding, "replace")[:dialect.heading]
    (header, first), *lines = _raw_rows(dialect.text(content), dialect.separator)
    column = [name.strip() for name in header].index(label)
    end = first[len(first.rstrip("\r\n")):] or "\n"
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=dialect.separator, lineterminator=end)
    out.write(first)
    for row, new in rows.items():
        cells, raw = lines[row]
        if new is None:
            out.write(raw if raw.endswith(("\r", "\n")) else raw + end)
        else:
            writer.writerow([*cells[:column], new, *cells[column + 1:]])
    marked = dialect.encoding != "utf-8-sig" or content.startswith(codecs.BOM_UTF8)
    return (heading + out.getvalue()).encode(dialect.encoding if marked else "utf-8")


def _raw_rows(text: str, separator: str) -> list[tuple[list[str], str]]:
    """(cells, text with its line end) of every row that is not blank."""
    lines, rows, start = list(io.StringIO(text, newline="")), [], 0
    reader = csv.reader(lines, delimiter=separator)
    for cells in reader:
        if cells:
            rows.append((cells, "".join(lines[start:reader.line_num])))
        start = reader.line_num
    return rows


def _json(content: bytes, label: str, rows: Mapping[int, str | None]) -> bytes:
    """A list of objects, or an object a line, where lines that stay are as they are byte for byte."""
    text = in_utf8(content).decode("utf-8-sig")
    whole = text.lstrip().startswith("[")
    lines = [] if whole else [line for line in text.split("\n") if line.strip()]
    items: list[dict[str, Any]] = json.loads(text) if whole else [json.loads(line) for line in lines]
    by_text = {str(item[label]): item[label] for item in items}
    written = [None if new is None else {**items[row], label: by_text.get(new, new)} for row, new in rows.items()]
    if whole:
        return json.dumps([items[row] if item is None else item for row, item in zip(rows, written, strict=True)],
                          ensure_ascii=False, indent=1).encode()
    return "".join((lines[row] if item is None else json.dumps(item, ensure_ascii=False)) + "\n"
                   for row, item in zip(rows, written, strict=True)).encode()
