#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Queries DuckDB through its C interface: duckdb.py LIBRARY SQL prints one line per row, fields separated by "|"."""
import ctypes
import sys


class Result(ctypes.Structure):
    """duckdb_result, whose fields are private to DuckDB."""
    _fields_ = [("fields", ctypes.c_uint64 * 16)]


def main():
    duckdb = ctypes.CDLL(sys.argv[1])
    duckdb.duckdb_result_error.restype = ctypes.c_char_p
    duckdb.duckdb_value_varchar.restype = ctypes.c_void_p
    for name in ("duckdb_row_count", "duckdb_column_count"):
        getattr(duckdb, name).restype = ctypes.c_uint64
    database, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), Result()
    if duckdb.duckdb_open(None, ctypes.byref(database)):
        sys.exit("DuckDB does not start")
    if duckdb.duckdb_connect(database, ctypes.byref(connection)):
        sys.exit("DuckDB does not start")
    if duckdb.duckdb_query(connection, sys.argv[2].encode(), ctypes.byref(result)):
        sys.exit(duckdb.duckdb_result_error(ctypes.byref(result)).decode())
    for row in range(duckdb.duckdb_row_count(ctypes.byref(result))):
        cells = []
        for column in range(duckdb.duckdb_column_count(ctypes.byref(result))):
            value = duckdb.duckdb_value_varchar(ctypes.byref(result), ctypes.c_uint64(column),
                                                ctypes.c_uint64(row))
            cells.append(ctypes.string_at(value).decode() if value else "")
        print("|".join(cells))


if __name__ == "__main__":
    main()
