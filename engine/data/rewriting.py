"""A user's table written again with other labels and fewer rows; everything else stays as it came."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from engine.basics.delimited import dialect_of
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
    dialect = dialect_of(content)
    heading = content.decode(dialect.encoding, "replace")[:dialect.heading]
    header, *lines = [line for line in csv.reader(io.StringIO(dialect.text(content), newline=""),
                                                  delimiter=dialect.separator) if line]
    column = [name.strip() for name in header].index(label)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=dialect.separator, lineterminator="\n")
    writer.writerow(header)
    for row, new in rows.items():
        line = list(lines[row])
        if new is not None:
            line[column] = new
        writer.writerow(line)
    return (heading + out.getvalue()).encode(dialect.encoding)


def _json(content: bytes, label: str, rows: Mapping[int, str | None]) -> bytes:
    text = content.decode("utf-8-sig")
    whole = text.lstrip().startswith("[")
    items: list[dict[str, Any]] = json.loads(text) if whole else [
        json.loads(line) for line in text.split("\n") if line.strip()]
    by_text = {str(item[label]): item[label] for item in items}
    written = [items[row] if new is None else {**items[row], label: by_text.get(new, new)} for row, new in rows.items()]
    if whole:
        return json.dumps(written, ensure_ascii=False, indent=1).encode()
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in written).encode()
