# SPDX-License-Identifier: LGPL-2.1-only
"""What the Linux kernel does with its memory, by libkmemscope.

    >>> import kmemscope
    >>> capture = kmemscope.open("trace.dat")
    >>> for row in capture.report(by="cache", top=3).main:
    ...     print(row["cache"], row["live_bytes"])

A table goes to pandas, polars, DuckDB or pyarrow by the Arrow C stream interface, without a copy: polars.DataFrame(table).
"""
import builtins
import os
from typing import Any, Union

from ._captures import KINDS, Analyzer, Capture, Heap, Map, Object, reports
from ._library import Error, InputError, Path, decode, lib
from ._tables import Cell, Column, Document, Table

__all__ = ["KINDS", "Analyzer", "Capture", "Cell", "Column", "Document", "Error", "Heap", "InputError", "Map", "Object", "Table", "open",
           "reports", "version"]

# As they are called from outside.
for _item in (Analyzer, Capture, Column, Document, Error, Heap, InputError, Map, Object, Table):
    _item.__module__ = __name__

_HEAP = b"KSHS\r\n\x1a\n"


def version() -> str:
    """The version of libkmemscope that is loaded."""
    return decode(lib.ks_version()) or ""


def open(source: Union[Path, int], **analysis: Any) -> Union[Capture, Heap]: # pylint: disable=redefined-builtin
    """What is at a path, or behind a descriptor: a Capture, or a Heap if it is a snapshot of one.

    The options are those of Analyzer, and are meant for captures.
    """
    if not isinstance(source, int) and os.path.isfile(source):
        with builtins.open(source, "rb") as file:
            if file.read(len(_HEAP)) == _HEAP:
                return Heap(source)
    return Capture(source, **analysis)
