# SPDX-License-Identifier: LGPL-2.1-only
"""Documents and their tables: rows as dictionaries, columns by name, and both as Arrow C streams."""
import ctypes
import json
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union, overload

from ._library import ROW_TOTAL, ArrowArrayStream, Call, decode, lib

Cell = Union[None, str, int, float, bool, List[str], List[int], "Table"]

_TYPE_NAMES = ("none", "text", "u64", "s64", "double", "bool", "texts", "u64s", "table")


class Column(NamedTuple):
    """A column: its name, the type of its cells, what its numbers count, and what stands above it for people."""
    name: str
    type: str
    unit: str
    head: str


def _texts(table: int, row: int, column: int) -> List[str]:
    return [decode(lib.ks_table_list_text(table, row, column, i)) or "" for i in range(lib.ks_table_list_len(table, row, column))]


def _numbers(table: int, row: int, column: int) -> List[int]:
    return [lib.ks_table_list_u64(table, row, column, i) for i in range(lib.ks_table_list_len(table, row, column))]


class Table:
    """A table: a sequence of rows, each a dictionary by the names of the columns, with None for an empty cell."""

    def __init__(self, document: "Document", handle: int) -> None:
        self._document = document # whose tables live as long as it
        self._handle = handle
        self.columns: List[Column] = [
            Column(decode(lib.ks_table_column_name(handle, i)) or "", _TYPE_NAMES[lib.ks_table_column_type(handle, i)],
                   decode(lib.ks_table_column_unit(handle, i)) or "", decode(lib.ks_table_column_head(handle, i)) or "")
            for i in range(lib.ks_table_columns(handle))]
        self._readers = [self._reader(i, column.type) for i, column in enumerate(self.columns)]

    @property
    def name(self) -> str:
        """Its name in JSON."""
        return decode(lib.ks_table_name(self._handle)) or ""

    @property
    def left_out(self) -> int:
        """How many rows the maker left out."""
        return int(lib.ks_table_left_out(self._handle))

    @property
    def total(self) -> Optional[Dict[str, Cell]]:
        """The row of totals, if the table has one."""
        return self._row(ROW_TOTAL) if lib.ks_table_has_total(self._handle) else None

    def column(self, name: str) -> List[Cell]:
        """All cells of a column."""
        for column, reader in zip(self.columns, self._readers):
            if column.name == name:
                return [reader(row) for row in range(len(self))]
        raise KeyError(name)

    def _reader(self, column: int, kind: str) -> Any:
        table, is_set = self._handle, lib.ks_table_is_set
        read = {"text": lambda row: decode(lib.ks_table_text(table, row, column)),
                "u64": lambda row: lib.ks_table_u64(table, row, column),
                "s64": lambda row: lib.ks_table_s64(table, row, column),
                "double": lambda row: lib.ks_table_double(table, row, column),
                "bool": lambda row: bool(lib.ks_table_bool(table, row, column)),
                "texts": lambda row: _texts(table, row, column),
                "u64s": lambda row: _numbers(table, row, column),
                "table": lambda row: Table(self._document, lib.ks_table_inner(table, row, column))}[kind]
        return lambda row: read(row) if is_set(table, row, column) else None

    def _row(self, row: int) -> Dict[str, Cell]:
        return {column.name: reader(row) for column, reader in zip(self.columns, self._readers)}

    def __len__(self) -> int:
        return int(lib.ks_table_rows(self._handle))

    @overload
    def __getitem__(self, row: int) -> Dict[str, Cell]: ...
    @overload
    def __getitem__(self, row: slice) -> List[Dict[str, Cell]]: ...

    def __getitem__(self, row: Union[int, slice]) -> Union[Dict[str, Cell], List[Dict[str, Cell]]]:
        if isinstance(row, slice):
            return [self._row(i) for i in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self._row(row % len(self))

    def __iter__(self) -> Iterator[Dict[str, Cell]]:
        for row in range(len(self)):
            yield self._row(row)

    def __repr__(self) -> str:
        return f"<kmemscope.Table {self.name!r}: {len(self)} rows, {len(self.columns)} columns>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with an ArrowArrayStream, for pandas, polars, DuckDB, pyarrow. Another schema is not made on request."""
        stream = ArrowArrayStream()
        Call()(lib.ks_document_arrow, self._document._handle, self._handle, byref(stream))
        address = ctypes.addressof(stream)
        _streams[address] = stream
        return _capsule_new(address, _CAPSULE, _destructor)


# Streams until their capsule goes. A consumer moves the struct out and marks it as released.
_streams: Dict[int, ArrowArrayStream] = {}
_CAPSULE = b"arrow_array_stream"
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
# The capsule has no reference any more when it is destroyed, so it must not become a Python object again.
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _destroy(capsule: int) -> None:
    stream = _streams.pop(_capsule_pointer(capsule, _CAPSULE), None)
    if stream is not None and stream.release:
        stream.release(byref(stream))


_destroy_type = ctypes.PYFUNCTYPE(None, c_void_p)
_destroy_function = _destroy_type(_destroy)
_destructor = ctypes.cast(_destroy_function, c_void_p)


class Document:
    """The answer to a question: tables, and values around them. It stands for its main table where one is wanted."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.ks_document_free(self._handle)

    @property
    def schema(self) -> str:
        """The kind of document and its version: "kmemscope-leaks-1"."""
        return decode(lib.ks_document_schema(self._handle)) or ""

    @property
    def main(self) -> Table:
        """The table that CSV and Parquet have."""
        handle = lib.ks_document_main(self._handle)
        if not handle:
            raise LookupError(f"{self.schema} has no tables")
        return Table(self, handle)

    @property
    def tables(self) -> Dict[str, Table]:
        """All tables by their names."""
        found: Dict[str, Table] = {}
        while True:
            handle = lib.ks_document_table(self._handle, len(found))
            if not handle:
                return found
            table = Table(self, handle)
            found[table.name] = table

    def value(self, name: str) -> Union[int, str]:
        """A value beside the tables: "events_total", "quality.lost_events"."""
        number = ctypes.c_uint64()
        if lib.ks_document_number(self._handle, name.encode(), byref(number)):
            return number.value
        text = decode(lib.ks_document_text(self._handle, name.encode()))
        if text is None:
            raise KeyError(name)
        return text

    def render(self, form: str) -> bytes:
        """The document as "text", "json", "csv", "markdown" or "parquet"."""
        made, length = c_void_p(), c_size_t()
        Call()(lib.ks_document_render, self._handle, form.encode(), byref(made), byref(length))
        try:
            return ctypes.string_at(made, length.value)
        finally:
            lib.ks_free(made)

    def json(self) -> Any:
        """All of it, as the command's --json has it."""
        return json.loads(self.render("json"))

    def __str__(self) -> str:
        return self.render("text").decode("utf-8", "replace")

    def _repr_markdown_(self) -> str:
        return self.render("markdown").decode("utf-8", "replace")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.main.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<kmemscope.Document {self.schema!r}>"
