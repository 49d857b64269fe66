# SPDX-License-Identifier: LGPL-2.1-only
"""Captures, heaps and maps, and the analyses that answer questions about captures."""
import ctypes
import os
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

from . import _library
from ._library import Call, Path, decode, encode, handle, lib, options_of
from ._tables import Document

# As the kernel calls its events.
KINDS = ("kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "mm_page_alloc", "mm_page_free", "lost")

_PAGES, _SKIP_HELPERS = 1, 2
_BY_CPU, _BY_PID, _BY_BYTES, _BY_KMALLOC, _BY_CACHE = 1, 2, 4, 8, 16
_STACKS, _ALL = 1, 2


class Object(NamedTuple):
    """An object of the kernel, from its allocation to its end. Times are those of the capture: nanoseconds, or ticks."""
    kind: str
    address: int
    bytes_requested: int
    bytes_allocated: int
    alloc_time: int
    end_time: Optional[int]
    end: str
    site: str
    cache: str
    comm: str
    gfp: str
    free_site: str
    pid: Optional[int]
    cpu: Optional[int]
    free_cpu: Optional[int]


def _object(data: Any) -> Object:
    return Object(KINDS[data.kind], data.address, data.bytes_requested, data.bytes_allocated, data.alloc_time,
                  data.end_time if data.has & 4 else None, *((decode(text) or "") for text in (
                      data.end, data.site, data.cache, data.comm, data.gfp, data.free_site)),
                  data.pid if data.has & 1 else None, data.cpu if data.has & 2 else None,
                  data.free_cpu if data.has & 8 else None)


def _report_options(by: Optional[str] = None, order: Optional[str] = None, top: int = 0, min_age_ns: int = 0,
                    stacks: bool = False, all: bool = False, buckets: int = 0, measure: Optional[str] = None,
                    normalize: Optional[str] = None) -> Any:
    return options_of(_library.ReportOptions, flags=(_STACKS if stacks else 0) | (_ALL if all else 0), by=by, order=order,
                      top=top, min_age_ns=min_age_ns, buckets=buckets, measure=measure, normalize=normalize)


def reports() -> Dict[str, str]:
    """The reports that there are, and what each is."""
    found: Dict[str, str] = {}
    while True:
        name = decode(lib.ks_report_name(len(found)))
        if name is None:
            return found
        found[name] = decode(lib.ks_report_summary(len(found))) or ""


class Analyzer:
    """Questions to one capture: asked first, answered from one pass. ks_analyzer(3) says what the options mean."""

    def __init__(self, *, site: Optional[str] = None, cache: Optional[str] = None, comm: Optional[str] = None,
                 cgroup: Optional[str] = None, branch: Optional[str] = None, since: Optional[str] = None,
                 until: Optional[str] = None, cpu: Optional[int] = None, pid: Optional[int] = None,
                 bytes: Optional[int] = None, allocator: Optional[str] = None, pages: bool = False,
                 skip_helpers: bool = False, kernel: Optional[Path] = None, kallsyms: Optional[Path] = None,
                 helpers: Optional[Path] = None) -> None:
        kinds = {None: 0, "kmalloc": _BY_KMALLOC, "cache": _BY_CACHE}
        options = options_of(
            _library.AnalyzerOptions, flags=(_PAGES if pages else 0) | (_SKIP_HELPERS if skip_helpers else 0),
            filter=(cpu is not None and _BY_CPU) | (pid is not None and _BY_PID) | (bytes is not None and _BY_BYTES) |
            kinds[allocator], cpu=cpu, pid=pid, bytes=bytes, site=site, cache=cache, comm=comm, cgroup=cgroup, branch=branch,
            since=since, until=until, **{name: None if path is None else os.fspath(path) for name, path in (
                ("kernel", kernel), ("kallsyms", kallsyms), ("helpers", helpers))})
        self._objects: List[Object] = []
        self._callback: Any = None # which the library has for as long as the analyzer
        self._capture: Optional["Capture"] = None
        self._handle = handle(lib.ks_analyzer_new, ctypes.byref(options))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.ks_analyzer_free(self._handle)

    def _call(self, function: Any, *arguments: Any) -> int:
        return Call(self._capture.name if self._capture else None)(function, self._handle, *arguments)

    def ask(self, report: str, **options: Any) -> "Analyzer":
        """Asks for a report, before the pass."""
        self._call(lib.ks_analyzer_ask, report.encode(), ctypes.byref(_report_options(**options)))
        return self

    def ask_db(self, path: Path) -> "Analyzer":
        """Asks for a DB of all events at a path."""
        self._call(lib.ks_analyzer_ask_db, encode(os.fspath(path)))
        return self

    def run(self, capture: "Capture") -> "Analyzer":
        """The pass over all of a capture."""
        self._capture = capture
        self._call(lib.ks_analyzer_run, capture._handle)
        return self

    def begin(self, capture: Optional["Capture"] = None) -> "Analyzer":
        """The begin of a pass step by step; or, without a capture, of events that are given to feed()."""
        self._capture = capture
        self._call(lib.ks_analyzer_begin, capture._handle if capture else None)
        return self

    def step(self) -> bool:
        """The next piece of the capture. False: that was all."""
        return bool(self._call(lib.ks_analyzer_step))

    def feed(self, kind: str, time_ns: int, *, address: int = 0, requested: int = 0, allocated: int = 0, lost: int = 0,
             site: Optional[str] = None, cache: Optional[str] = None, comm: Optional[str] = None, gfp: Optional[str] = None,
             stack: Sequence[str] = (), cpu: Optional[int] = None, pid: Optional[int] = None,
             node: Optional[int] = None) -> None:
        """One event of the program's own; kind is one of KINDS."""
        data = options_of(_library.EventData, kind=KINDS.index(kind), has=(cpu is not None) | (pid is not None) << 1 |
                          (node is not None) << 2, time_ns=time_ns, address=address, bytes_requested=requested,
                          bytes_allocated=allocated, lost=lost, site=site, cache=cache, comm=comm, gfp=gfp, cpu=cpu, pid=pid, node=node)
        frames = (ctypes.c_char_p * len(stack))(*(frame.encode() for frame in stack))
        data.stack, data.stack_len = frames, len(stack)
        self._call(lib.ks_analyzer_feed, ctypes.byref(data))

    def finish(self) -> "Analyzer":
        """There are no more events."""
        self._call(lib.ks_analyzer_finish)
        return self

    def answer(self, report: str, **options: Any) -> Document:
        """A report that was asked for, as of now."""
        made = ctypes.c_void_p()
        self._call(lib.ks_analyzer_answer, report.encode(), ctypes.byref(_report_options(**options)), ctypes.byref(made))
        return Document(made.value or 0)

    def compare(self, after: "Analyzer", **options: Any) -> Document:
        """What changed from this analysis to another; both were asked for "report" by the same groups."""
        made = ctypes.c_void_p()
        self._call(lib.ks_analyzer_compare, after._handle, ctypes.byref(_report_options(**options)), ctypes.byref(made))
        return Document(made.value or 0)

    def objects(self, capture: "Capture") -> Iterator[Object]:
        """Every object, in the order of their ends, while the capture is read. It begins the pass."""
        def take(_ctx: int, data: Any, _diag: int) -> int:
            self._objects.append(_object(data.contents))
            return 0

        self._callback = _library.ObjectCallback(take)
        self._call(lib.ks_analyzer_ask_objects, ctypes.cast(self._callback, ctypes.c_void_p), None)
        self.begin(capture)
        more = True
        while more:
            more = self.step()
            yield from self._objects
            self._objects.clear()


class Capture:
    """Where events come from: a file in any format that kmemscope reads, or a descriptor."""

    def __init__(self, source: Union[Path, int], **analysis: Any) -> None:
        self._analysis = analysis
        self.name = f"descriptor {source}" if isinstance(source, int) else os.fspath(source)
        if isinstance(source, int): # the library closes what it gets, and the caller what is the caller's
            self._handle = handle(lib.ks_capture_open_fd, os.dup(source), self.name.encode(), file=self.name)
        else:
            self._handle = handle(lib.ks_capture_open, encode(self.name), file=self.name)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.ks_capture_close(self._handle)

    def _answer(self, report: str, **options: Any) -> Document:
        return Analyzer(**self._analysis).ask(report, **options).run(self).answer(report, **options)

    def info(self) -> Document:
        """What is in it."""
        return self._answer("info")

    def report(self, by: str = "site", *, order: str = "live", top: int = 0) -> Document:
        """Sums by site, function, module, cache, size, pid, comm, cgroup, cpu, node or gfp."""
        return self._answer("report", by=by, order=order, top=top)

    def leaks(self, *, min_age_ns: int = 0, stacks: bool = False, all: bool = False, top: int = 0) -> Document:
        """What lives at the end, with what speaks for a leak."""
        return self._answer("leaks", min_age_ns=min_age_ns, stacks=stacks, all=all, top=top)

    def frag(self, *, top: int = 0) -> Document:
        """Bytes requested and allocated, by site and by size."""
        return self._answer("frag", top=top)

    def timeline(self, by: str = "site", *, buckets: int = 60, top: int = 8) -> Document:
        """Memory over time."""
        return self._answer("timeline", by=by, buckets=buckets, top=top)

    def before(self, *, top: int = 0) -> Document:
        """What the kernel had when recording began."""
        return self._answer("before", top=top)

    def compare(self, after: "Capture", by: str = "site", **options: Any) -> Document:
        """What changed from this capture to another."""
        sides = [Analyzer(**capture._analysis).ask("report", by=by).run(capture) for capture in (self, after)]
        return sides[0].compare(sides[1], by=by, **options)

    def objects(self) -> Iterator[Object]:
        """Every object, as it ends; then those that live."""
        return Analyzer(**self._analysis).objects(self)

    def check(self) -> Document:
        """Whether the file is whole, in order and without loss."""
        return Document(handle(lib.ks_capture_check, encode(self.name), file=self.name))

    def __repr__(self) -> str:
        return f"<kmemscope.Capture {self.name!r}>"


class Heap:
    """A snapshot of a kernel's memory: a file of "kmemscope heap save"."""

    def __init__(self, path: Path) -> None:
        self.name = os.fspath(path)
        self._handle = handle(lib.ks_heap_open, encode(self.name), file=self.name)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.ks_heap_close(self._handle)

    def _answer(self, question: str, **options: Any) -> Document:
        return Document(handle(lib.ks_heap_answer, self._handle, question.encode(),
                               ctypes.byref(options_of(_library.HeapOptions, **options)), file=self.name))

    def info(self) -> Document:
        """Of which kernel, when, and how much there is."""
        return self._answer("info")

    def census(self, by: str = "cache", *, top: int = 0) -> Document:
        """Objects and bytes by cache, type, cgroup or node."""
        return self._answer("census", by=by, top=top)

    def types(self, *, top: int = 0) -> Document:
        """What the objects are, and how that is known."""
        return self._answer("types", top=top)

    def show(self, what: str, *, top: int = 0) -> Document:
        """The objects of a type or cache, or all about the one at an address."""
        return self._answer("show", what=what, top=top)

    def holders(self, what: str, *, top: int = 0) -> Document:
        """Who holds the objects of a type or cache, or the one at an address."""
        return self._answer("holders", what=what, top=top)

    def compare(self, after: "Heap", *, top: int = 0) -> Document:
        """What changed from this snapshot to another."""
        return Document(handle(lib.ks_heap_compare, self._handle, after._handle,
                               ctypes.byref(options_of(_library.HeapOptions, top=top)), file=self.name))

    def __repr__(self) -> str:
        return f"<kmemscope.Heap {self.name!r}>"


class Map:
    """An access map: which code used which objects. What was allocated is also a Capture: open()."""

    def __init__(self, path: Path, *, accesses: Optional[Path] = None, kernel: Optional[Path] = None,
                 kallsyms: Optional[Path] = None, slab_pages: bool = False) -> None:
        self.name = os.fspath(path)
        options = options_of(_library.MapOptions, flags=int(slab_pages), **{
            name: None if given is None else os.fspath(given)
            for name, given in (("accesses", accesses), ("kernel", kernel), ("kallsyms", kallsyms))})
        self._handle = handle(lib.ks_map_open, encode(self.name), ctypes.byref(options), file=self.name)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.ks_map_close(self._handle)

    def _answer(self, question: str, **options: Any) -> Document:
        return Document(handle(lib.ks_map_answer, self._handle, question.encode(),
                               ctypes.byref(options_of(_library.MapQuestion, **options)), file=self.name))

    def report(self, by: str = "site", *, order: str = "bytes", top: int = 0) -> Document:
        """Objects and accesses by site, function, file, dir, topdir, module, cache or type."""
        return self._answer("report", by=by, order=order, top=top)

    def accesses(self, site: str, by: str = "function", *, top: int = 0) -> Document:
        """Who touched the objects of a site."""
        return self._answer("accesses", what=site, by=by, top=top)

    def touches(self, code: str, by: str = "site", *, top: int = 0) -> Document:
        """Whose objects a piece of code touched."""
        return self._answer("touches", what=code, by=by, top=top)

    def matrix(self, by: str = "function", *, top: int = 0) -> Document:
        """Which code touched whose objects."""
        return self._answer("matrix", by=by, top=top)

    def lives(self, by: str = "site", *, top: int = 0) -> Document:
        """Life times and sizes."""
        return self._answer("lives", by=by, top=top)

    def sharing(self, by: str = "site", *, top: int = 0) -> Document:
        """Who uses what others allocated."""
        return self._answer("sharing", by=by, top=top)

    def compare(self, after: "Map", by: str = "function", *, top: int = 0) -> Document:
        """What changed from this map to another."""
        return Document(handle(lib.ks_map_compare, self._handle, after._handle,
                               ctypes.byref(options_of(_library.MapQuestion, by=by, top=top)), file=self.name))

    def __repr__(self) -> str:
        return f"<kmemscope.Map {self.name!r}>"
