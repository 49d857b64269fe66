#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The Python package: bindings.py LIBRARY KMEMSCOPE SNAPSHOT. Prints TAP.

Its answers are held against the command's, its structs against the compiler's, its Arrow streams against a reader that is written from
the specification, and against DuckDB. The examples of docs/python.md are run.
"""
import csv
import ctypes
import doctest
import gc
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "lib"), str(ROOT / "bindings" / "python")]
import tap  # noqa: E402

LIBRARY, KMEMSCOPE, SNAPSHOT = (os.path.abspath(word) for word in sys.argv[1:4])
os.environ["KMEMSCOPE_LIBRARY"] = LIBRARY
import kmemscope  # noqa: E402
from kmemscope import _library  # noqa: E402

SAMPLE = ROOT / "tests" / "data" / "sample.log"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"


def command(*words):
    return tap.run(KMEMSCOPE, *words).stdout


# === The Arrow C data interface, from its specification ============================================

class Schema(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.c_void_p),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                  ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.c_void_p),
                  ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def bit(buffer, i):
    return ctypes.cast(buffer, ctypes.POINTER(ctypes.c_uint8))[i // 8] >> i % 8 & 1


def number(buffer, kind, i):
    return ctypes.cast(buffer, ctypes.POINTER(kind))[i]


def cell(schema, array, i):
    i += array.offset
    if array.null_count and array.buffers[0] and not bit(array.buffers[0], i):
        return None
    form = schema.format.decode()
    if form in ("u", "+l"):
        first, end = (number(array.buffers[1], ctypes.c_int32, j) for j in (i, i + 1))
        if form == "u":
            return ctypes.string_at(array.buffers[2] + first, end - first).decode()
        return [cell(schema.children[0][0], array.children[0][0], j) for j in range(first, end)]
    if form == "b":
        return bool(bit(array.buffers[1], i))
    return number(array.buffers[1], {"L": ctypes.c_uint64, "l": ctypes.c_int64, "g": ctypes.c_double}[form], i)


def read_stream(capsule):
    """The rows of a stream, and the units of its columns."""
    stream = Stream.from_address(pointer_of(capsule, b"arrow_array_stream"))
    schema, batch, rows, units = Schema(), Array(), [], {}
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    fields = [schema.children[i][0] for i in range(schema.n_children)]
    for field in fields:
        pairs, key = number(field.metadata, ctypes.c_int32, 0), number(field.metadata, ctypes.c_int32, 1)
        length = number(field.metadata + 8 + key, ctypes.c_int32, 0)
        assert (pairs, ctypes.string_at(field.metadata + 8, key)) == (1, b"unit")
        units[field.name.decode()] = ctypes.string_at(field.metadata + 12 + key, length).decode()
    while stream.get_next(ctypes.byref(stream), ctypes.byref(batch)) == 0 and batch.release:
        rows += [{field.name.decode(): cell(field, batch.children[c][0], i) for c, field in enumerate(fields)} for i in range(batch.length)]
        batch.release(ctypes.byref(batch))
    schema.release(ctypes.byref(schema))
    stream.release(ctypes.byref(stream))
    assert not stream.release
    return rows, units


# === Checks ========================================================================================

def check_layouts():
    """The structs have the members that the headers have, at the same places."""
    structs = {"ks_analyzer_options": _library.AnalyzerOptions, "ks_report_options": _library.ReportOptions,
               "ks_heap_options": _library.HeapOptions, "ks_map_options": _library.MapOptions, "ks_map_question": _library.MapQuestion, "ks_event_data": _library.EventData, "ks_object": _library.ObjectData}
    lines = [f'printf("{c} %zu\\n", sizeof(struct {c}));' for c in structs]
    lines += [f'printf("{c}.{m[0]} %zu\\n", offsetof(struct {c}, {m[0]}));' for c, s in structs.items() for m in s._fields_]
    with tempfile.TemporaryDirectory(prefix="kmemscope layout ") as place:
        source = pathlib.Path(place, "layout.c")
        source.write_text("#include <stdio.h>\n#include <kmemscope/kmemscope.h>\nint main(void)\n{\n" + "\n".join(lines) + "\n}\n",
                          encoding="utf-8")
        tap.run("gcc", "-I", ROOT / "include", source, "-o", f"{place}/layout")
        said = dict(line.split() for line in tap.run(f"{place}/layout").stdout.splitlines())
    mine = {c: ctypes.sizeof(s) for c, s in structs.items()}
    mine |= {f"{c}.{m[0]}": getattr(s, m[0]).offset for c, s in structs.items() for m in s._fields_}
    tap.check_none(f"{len(structs)} structs are laid out as the compiler does",
                   [f"{name}: {mine.get(name)}, but {said.get(name)}" for name in mine if str(mine[name]) != said.get(name)] or
                   ([] if len(said) > 50 else ["the compiler said nothing"]))
    exported = set(re.findall(r"^\t(ks_\w+);", (ROOT / "src/api/kmemscope.map").read_text(encoding="utf-8"), re.M))
    tap.check_none("every function has its types, but the one for callbacks in C",
                   (exported ^ set(_library._FUNCTIONS)) - {"ks_capture_open_callbacks"})


def same_rows(rows, expected):
    """How rows differ from those of a JSON document, which leaves out what is empty."""
    problems = [] if len(rows) == len(expected) else [f"{len(rows)} rows, but {len(expected)}"]
    for row, wanted in zip(rows, expected):
        problems += [f"{name}: {row.get(name)!r}, but {value!r}" for name, value in wanted.items()
                     if not isinstance(value, (dict, list)) and row.get(name) != value and not (name == "addr" or str(value).startswith("0x"))]
    return problems[:10]


def unique_names(document):
    """Names of columns that a table has twice."""
    names = [(table.name, column.name) for table in document.tables.values() for column in table.columns]
    return sorted({name for name in names if names.count(name) > 1})


def check_reports():
    capture = kmemscope.open(SAMPLE)
    for by in "site", "function", "module", "cache", "size", "pid", "comm", "cpu", "node", "gfp":
        expected = json.loads(command("report", "--by", by, "--json", SAMPLE))
        document = capture.report(by=by)
        tap.check_none(f"the report by {by} is the command's", same_rows(list(document.main), expected["rows"]) + unique_names(document) +
                       ([] if document.json() == expected else ["its JSON differs"]))
    for name, words in ("info", []), ("leaks", []), ("timeline", []):
        document = getattr(capture, name)()
        tap.check_none(f"names of columns in {name}", unique_names(document))
        tap.check(f"so is {name}", document.json() == json.loads(command(name, "--json", *words, SAMPLE)))
    tap.check("so is --frag", capture.frag().json() == json.loads(command("report", "--frag", "--json", SAMPLE)))
    tap.check("and check", capture.check().json() == json.loads(command("check", "--json", SAMPLE)))
    tap.check("and diff", capture.compare(capture, by="cache").json() ==
              json.loads(command("diff", "--by", "cache", "--json", SAMPLE, SAMPLE)))
    one = kmemscope.open(SAMPLE, cache="mm_struct", until="+1h")
    tap.check("and a filter", one.report().json() == json.loads(command("report", "--cache=mm_struct", "--until", "+1h", "--json", SAMPLE)))
    heap = kmemscope.open(SNAPSHOT)
    tap.check("a snapshot is a heap", isinstance(heap, kmemscope.Heap))
    for by in "cache", "type", "cgroup", "node":
        tap.check(f"its census by {by} is the command's",
                  heap.census(by).json() == json.loads(command("heap", "--by", by, "--from", SNAPSHOT, "--json")))
    tap.check("and its types", heap.types().json() == json.loads(command("heap", "types", "--from", SNAPSHOT, "--json")))
    tap.check("and who holds them", heap.holders("task_struct").json() ==
              json.loads(command("heap", "holders", "task_struct", "--from", SNAPSHOT, "--json")))
    tap.check("and a list", heap.show("task_struct").json() ==
              json.loads(command("heap", "show", "task_struct", "--from", SNAPSHOT, "--json")))
    tap.check("and what changed", len(heap.compare(heap).tables) > 0)
    path = SAMPLE.with_suffix(".kmap")
    mapped = kmemscope.Map(path)
    for question in "report", "matrix", "lives", "sharing":
        tap.check(f"a map's {question} is the command's", getattr(mapped, question)(top=20).json() ==
                  json.loads(command("kmap", question, path, "--json")))
    site = mapped.report().main[0]["group"]
    tap.check("and who touched a site", mapped.accesses(site, top=20).json() == json.loads(command("kmap", "accesses", site, path, "--json")))
    tap.check("and what changed from map to map", mapped.compare(mapped, top=20).json() ==
              json.loads(command("kmap", "diff", path, path, "--json")))
    with open(SAMPLE, "rb") as file:
        tap.check("a descriptor stays the caller's", kmemscope.open(file.fileno()).report().json() == capture.report().json() and
                  not file.closed and os.fstat(file.fileno()))


def check_objects():
    """Against the command's table of objects."""
    expected = list(csv.DictReader(io.StringIO(command("export", "--format", "csv", "--table", "objects", SAMPLE))))
    objects = list(kmemscope.open(SAMPLE).objects())
    names = ("kind", "site", "cache", "comm", "end", "gfp", "free_site")
    problems = [f"{len(objects)}, but {len(expected)}"] if len(objects) != len(expected) else []
    numbers = ("bytes_requested", "bytes_allocated", "alloc_ts", "end_ts", "alloc_cpu", "free_cpu", "pid")
    mine = {"alloc_ts": "alloc_time", "end_ts": "end_time", "alloc_cpu": "cpu"}
    for o, row in zip(objects, expected):
        problems += [f"{name}: {o!r}, but {row!r}" for name in names if getattr(o, name) != row[name]]
        problems += [f"{name}: {o!r}, but {row!r}" for name in numbers
                     if getattr(o, mine.get(name, name)) != (int(row[name]) if row[name] else None)]
        problems += [f"{o!r}, but {row!r}"] if o.address != int(row["address"], 16) else []
    tap.check_none(f"{len(objects)} objects are the command's, in its order", problems[:5])
    tap.check("sums of them too", sum(o.bytes_allocated for o in objects if o.end == "live") ==
              kmemscope.open(SAMPLE).report().main.total["live_bytes"])


def check_tables():
    table = kmemscope.open(SAMPLE).report(by="cache").main
    rows = list(table)
    tap.check("rows by number, from the end, and in parts", table[0] == rows[0] and table[-1] == rows[-1] and table[1:3] == rows[1:3])
    tap.check("a column is what the rows have", table.column("live_bytes") == [row["live_bytes"] for row in rows])
    for what, key in (lambda: table[len(table)], IndexError), (lambda: table.column("weather"), KeyError):
        try:
            what()
            tap.check(f"{key.__name__} where there is none", False)
        except key:
            tap.check(f"{key.__name__} where there is none", True)
    document = kmemscope.open(SAMPLE).report(by="cache")
    table = document.main
    del document
    gc.collect()
    tap.check("a table keeps its document", list(table) == rows)


def check_arrow():
    document = kmemscope.open(SAMPLE).leaks(all=True)
    for name, table in document.tables.items():
        rows, units = read_stream(table.__arrow_c_stream__())
        flat = [column.name for column in table.columns if column.type != "table"]
        tap.check(f"Arrow has the cells of {name}", rows == [{key: row[key] for key in flat} for row in table])
        tap.check("and their units", units == {c.name: c.unit for c in table.columns if c.type != "table"})
    capsule = document.__arrow_c_stream__()
    expected = list(document.main)
    del document
    gc.collect()
    tap.check("a stream keeps the document", len(read_stream(capsule)[0]) == len(expected))
    before = len(kmemscope._tables._streams)
    del capsule
    tap.check("a capsule that goes takes its stream along", len(kmemscope._tables._streams) == before - 1)
    many = kmemscope.Analyzer().ask("report", by="site").begin()
    for i in range(70000):
        many.feed("kmalloc", i, address=0x1000 + i * 64, requested=60, allocated=64, site=f"f{i}+0x1/0x2")
    rows, _ = read_stream(many.answer("report", by="site").__arrow_c_stream__())
    tap.check("70000 rows come in two batches, all of them", len(rows) == 70000 and len({row["site"] for row in rows}) == 70000 and
              all(row["live_bytes"] == 64 for row in rows))
    hostile = kmemscope.Analyzer().ask("report", by="comm").begin()
    hostile.feed("kmalloc", 1, address=0x1000, requested=1, allocated=8, comm="\udcff<script>\x1b[31m")
    row = read_stream(hostile.answer("report", by="comm").__arrow_c_stream__())[0][0]
    tap.check("bytes that are no UTF-8 are replaced", row["comm"].startswith("\ufffd<script>"), repr(row["comm"]))


def duckdb_library():
    done = tap.run(ROOT / "tests" / "exports" / "fetch.py", "@duckdb/node-bindings-linux-x64", status=None)
    found = list(pathlib.Path(done.stdout.strip()).glob("libduckdb.so")) if not done.returncode else []
    return found[0] if found else None


def check_duckdb():
    """DuckDB scans the stream by itself: a consumer that knows nothing of us."""
    path = duckdb_library()
    if path is None or sys.platform != "linux" or os.uname().machine != "x86_64":
        tap.skip("DuckDB reads a stream", "no DuckDB here")
        return
    code = """
import ctypes, sys
import kmemscope
duckdb = ctypes.CDLL(sys.argv[1])
db, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_uint64 * 16)()
assert not duckdb.duckdb_open(None, ctypes.byref(db)) and not duckdb.duckdb_connect(db, ctypes.byref(connection))
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule = kmemscope.open(sys.argv[2]).report(by="cache").__arrow_c_stream__()
assert not duckdb.duckdb_arrow_scan(connection, b"report", ctypes.c_void_p(pointer_of(capsule, b"arrow_array_stream")))
# This function of its C interface numbers columns as they come, whatever a statement wants of them: so it takes all.
for sql in (b"CREATE TABLE copied AS SELECT * FROM report",
            b"SELECT count(*) || '|' || sum(live_bytes) || '|' || max(cache) || '|' || max(typeof(live_bytes)) FROM copied"):
    assert not duckdb.duckdb_query(connection, sql, ctypes.byref(result))
duckdb.duckdb_value_varchar.restype = ctypes.c_void_p
print(ctypes.string_at(duckdb.duckdb_value_varchar(ctypes.byref(result), ctypes.c_uint64(0), ctypes.c_uint64(0))).decode())
"""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"))
    done = tap.run(sys.executable, "-c", code, path, SAMPLE, env=env, status=None)
    rows = list(csv.DictReader(io.StringIO(command("report", "--by", "cache", "--csv", SAMPLE))))
    expected = f"{len(rows)}|{sum(int(r['live_bytes']) for r in rows)}|{max(r['cache'] for r in rows)}|UBIGINT"
    tap.check("DuckDB reads a stream", done.stdout.strip() == expected, f"{done.stdout}{done.stderr}\nexpected: {expected}")


def check_errors():
    def raised(kind, what):
        try:
            what()
        except kind as error:
            return error
        return None

    error = raised(kmemscope.Error, lambda: kmemscope.open("/no/such/file"))
    tap.check("a missing file", error and error.errno == 2 and error.file == "/no/such/file" and "/no/such/file" in str(error))
    with tempfile.NamedTemporaryFile(prefix="kmemscope cut ") as cut:
        cut.write(b"\x17\x08\x44tracing6\0\0\0\xff\xff\xff\xff")
        cut.flush()
        error = raised(kmemscope.InputError, lambda: kmemscope.open(cut.name).report())
        tap.check("a damaged file has a place", error and error.file == cut.name and error.offset is not None and error.errno is None,
                  repr(error and vars(error)))
    tap.check("bad input is a ValueError", issubclass(kmemscope.InputError, ValueError))
    error = raised(kmemscope.Error, lambda: kmemscope.open(SAMPLE).report(by="weather"))
    tap.check("a wrong option says which are right", error and "choose one of site" in str(error))
    tap.check("an unknown report", raised(kmemscope.Error, lambda: kmemscope.Analyzer().ask("weather")))
    tap.check("an unknown option", raised(TypeError, lambda: kmemscope.Analyzer().ask("report", weather=1)))
    done = kmemscope.Analyzer().ask("report").run(kmemscope.open(SAMPLE))
    tap.check("asking too late", raised(kmemscope.Error, lambda: done.ask("leaks")))
    tap.check("what nobody asked for", raised(kmemscope.Error, lambda: done.answer("leaks")))
    refused = 0
    for path in sorted(CORPUS.glob("tracedat/*")) + sorted(CORPUS.glob("ksdb/*")):
        try:
            list(kmemscope.open(path).objects())
        except kmemscope.InputError as bad:
            refused += bool(str(bad))
    tap.check(f"hostile files are exceptions ({refused})", refused > 0)


def check_package():
    for module in (kmemscope._library, kmemscope._tables, kmemscope._captures):
        for item in vars(module).values():
            if isinstance(item, type) and item.__module__ == module.__name__:
                typing.get_type_hints(item.__init__)
    tap.check("types are marked as being there", (ROOT / "bindings/python/kmemscope/py.typed").exists())
    project = (ROOT / "bindings/python/pyproject.toml").read_text(encoding="utf-8")
    tap.check("its version is the program's", f'version = "{kmemscope.version()}"' in project and
              command("--version").split()[1] == kmemscope.version())
    plain = [name for name in kmemscope.__all__ if not hasattr(kmemscope, name)]
    tap.check_none("all that is listed is there", plain)


def check_examples():
    with tempfile.TemporaryDirectory(prefix="kmemscope python ") as place:
        shutil.copy(SAMPLE, f"{place}/kmem.log")
        os.chdir(place)
        said = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        test = doctest.DocTestParser().get_doctest(text.replace("\n```\n", "\n\n"), {}, "python.md", "docs/python.md", 0)
        failed, ran = runner.run(test, out=said.write)
        os.chdir(ROOT)
    tap.check(f"the {ran} examples of docs/python.md", not failed and ran > 15, said.getvalue())


def main():
    check_layouts()
    check_reports()
    check_objects()
    check_tables()
    check_arrow()
    check_duckdb()
    check_errors()
    check_package()
    check_examples()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
