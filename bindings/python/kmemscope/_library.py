# SPDX-License-Identifier: LGPL-2.1-only
"""libkmemscope.so.0 by ctypes: its structs, the types of its functions, and its errors as exceptions."""
import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64,
                    c_void_p)
from typing import Any, Optional, Union

INPUT = -100000 # KS_ERROR_INPUT
ROW_TOTAL = ctypes.c_size_t(-1).value

Path = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """What went wrong: the message of the library, its code, and where in which file."""

    def __init__(self, text: str, code: int, file: Optional[str] = None, offset: Optional[int] = None) -> None:
        super().__init__(text)
        self.code = code
        self.file = file
        self.offset = offset

    @property
    def errno(self) -> Optional[int]:
        """The number of the system's error, where it is one."""
        return -self.code if self.code != INPUT else None


class InputError(Error, ValueError):
    """The input is damaged, hostile, or of no known format."""


class AnalyzerOptions(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("filter", c_uint32), ("cpu", c_uint32), ("pid", c_uint32),
                ("bytes", c_uint64), ("site", c_char_p), ("cache", c_char_p), ("comm", c_char_p), ("cgroup", c_char_p),
                ("branch", c_char_p), ("since", c_char_p), ("until", c_char_p), ("kernel", c_char_p), ("kallsyms", c_char_p),
                ("helpers", c_char_p), ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)), ("progress_ctx", c_void_p)]


class ReportOptions(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("by", c_char_p), ("order", c_char_p), ("top", c_uint64),
                ("min_age_ns", c_uint64), ("buckets", c_uint64), ("measure", c_char_p), ("normalize", c_char_p)]


class HeapOptions(Structure):
    _fields_ = [("size", c_size_t), ("by", c_char_p), ("what", c_char_p), ("top", c_uint64)]


class MapOptions(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("accesses", c_char_p), ("kernel", c_char_p), ("kallsyms", c_char_p)]


class MapQuestion(Structure):
    _fields_ = [("size", c_size_t), ("by", c_char_p), ("order", c_char_p), ("what", c_char_p), ("top", c_uint64)]


class EventData(Structure):
    _fields_ = [("size", c_size_t), ("kind", c_uint32), ("has", c_uint32), ("time_ns", c_uint64), ("address", c_uint64),
                ("bytes_requested", c_uint64), ("bytes_allocated", c_uint64), ("lost", c_uint64), ("site", c_char_p),
                ("cache", c_char_p), ("comm", c_char_p), ("gfp", c_char_p), ("stack", POINTER(c_char_p)), ("stack_len", c_size_t),
                ("cpu", c_uint32), ("pid", c_uint32), ("node", c_int32)]


class ObjectData(Structure):
    _fields_ = [("size", c_size_t), ("has", c_uint32), ("kind", c_uint32), ("address", c_uint64), ("bytes_requested", c_uint64),
                ("bytes_allocated", c_uint64), ("alloc_time", c_uint64), ("end_time", c_uint64), ("site", c_char_p),
                ("cache", c_char_p), ("comm", c_char_p), ("gfp", c_char_p), ("end", c_char_p), ("free_site", c_char_p),
                ("pid", c_uint32), ("cpu", c_uint32), ("free_cpu", c_uint32)]


class ArrowArrayStream(Structure):
    """The struct of the Arrow C stream interface; what it points to is for its consumer."""


ArrowArrayStream._fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p),
                             ("release", CFUNCTYPE(None, POINTER(ArrowArrayStream))), ("private_data", c_void_p)]

ObjectCallback = CFUNCTYPE(c_int, c_void_p, POINTER(ObjectData), c_void_p)

# Results of functions, and of their parameters those that are no pointers. "!" fails with an exception, "p" is a pointer, "s" text.
_FUNCTIONS = {
    "ks_version": "s", "ks_free": "-p", "ks_diag_new": "p", "ks_diag_free": "-p", "ks_diag_code": "ip", "ks_diag_text": "sp",
    "ks_diag_offset": "ipp", "ks_diag_explain": "ipis",
    "ks_capture_open": "ispp", "ks_capture_open_fd": "iispp", "ks_capture_close": "-p", "ks_capture_check": "ispp",
    "ks_analyzer_new": "ippp", "ks_analyzer_free": "-p", "ks_report_name": "sz", "ks_report_summary": "sz",
    "ks_analyzer_ask": "ipspp", "ks_analyzer_ask_objects": "ipppp", "ks_analyzer_ask_db": "ipsp", "ks_analyzer_run": "ippp",
    "ks_analyzer_begin": "ippp", "ks_analyzer_step": "ipp", "ks_analyzer_feed": "ippp", "ks_analyzer_finish": "ipp",
    "ks_analyzer_answer": "ipsppp", "ks_analyzer_compare": "ippppp",
    "ks_heap_open": "ispp", "ks_heap_close": "-p", "ks_heap_answer": "ipsppp", "ks_heap_compare": "ippppp",
    "ks_map_open": "isppp", "ks_map_close": "-p", "ks_map_answer": "ipsppp", "ks_map_compare": "ippppp",
    "ks_document_free": "-p", "ks_document_schema": "sp", "ks_document_table": "ppz", "ks_document_main": "pp",
    "ks_document_find": "pps", "ks_document_number": "ipsp", "ks_document_text": "sps", "ks_document_render": "ipsppp",
    "ks_document_arrow": "ipppp",
    "ks_table_name": "sp", "ks_table_rows": "zp", "ks_table_columns": "zp", "ks_table_left_out": "Up", "ks_table_has_total": "ip",
    "ks_table_column": "ips", "ks_table_column_name": "spz", "ks_table_column_head": "spz", "ks_table_column_type": "ipz",
    "ks_table_column_unit": "spz", "ks_table_is_set": "ipzz", "ks_table_text": "spzz", "ks_table_u64": "Upzz",
    "ks_table_s64": "Spzz", "ks_table_double": "dpzz", "ks_table_bool": "ipzz", "ks_table_list_len": "zpzz",
    "ks_table_list_text": "spzzz", "ks_table_list_u64": "Upzzz", "ks_table_inner": "ppzz",
}
_TYPES = {"p": c_void_p, "s": c_char_p, "i": c_int, "z": c_size_t, "U": c_uint64, "S": c_int64, "d": c_double, "-": None}


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ.get("KMEMSCOPE_LIBRARY", "libkmemscope.so.0"))
    for name, types in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = _TYPES[types[0]]
        function.argtypes = [_TYPES[letter] for letter in types[1:]]
    return library


lib: Any = _load()


def encode(text: Optional[str]) -> Optional[bytes]:
    """Text for the library. None stays None."""
    return None if text is None else os.fsencode(text)


def decode(text: Optional[bytes]) -> Optional[str]:
    """Text of the library, where the kernel's may hold bytes of any kind: those that are no UTF-8 are replaced."""
    return None if text is None else text.decode("utf-8", "replace")


class Call:
    """One call that may fail, whose last argument is the struct ks_diag of the call."""

    def __init__(self, file: Optional[Path] = None) -> None:
        self.file = None if file is None else os.fspath(file)

    def __call__(self, function: Any, *arguments: Any) -> int:
        """What the function returned, if it is not negative."""
        diag = lib.ks_diag_new()
        if not diag:
            raise MemoryError
        try:
            result: int = function(*arguments, diag)
            if result >= 0:
                return result
            offset = c_uint64()
            where = offset.value if lib.ks_diag_offset(diag, byref(offset)) else None
            text = decode(lib.ks_diag_text(diag)) or os.strerror(-result)
            raise (InputError if result == INPUT else Error)(text, result, self.file, where)
        finally:
            lib.ks_diag_free(diag)


def options_of(struct: Any, **members: Any) -> Any:
    """A struct with its size and members, with text as bytes and None left out."""
    options = struct(size=ctypes.sizeof(struct))
    for name, value in members.items():
        if value is not None:
            setattr(options, name, encode(value) if isinstance(value, str) else value)
    return options


def handle(function: Any, *arguments: Any, file: Optional[Path] = None) -> int:
    """The pointer that a function makes, which returns it before its diag."""
    made = c_void_p()
    Call(file)(function, *arguments, byref(made))
    return made.value or 0
