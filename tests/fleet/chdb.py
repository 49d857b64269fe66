#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Today's ClickHouse without a server: chdb.py LIBRARY DIR answers over HTTP, on loopback, with the engine of npm's chdb. Prints its port.

It takes what kmemscope sends to a server: a statement as the body, or an INSERT as ?query= with rows in the body, compressed or not.
Class Engine starts it, and looks like clickhouse.Server.
"""
import ctypes
import gzip
import http.server
import pathlib
import subprocess
import sys
import urllib.parse

import clickhouse

SETTINGS = {"wait_end_of_query", "insert_distributed_sync", "max_bytes_before_external_group_by"} # those that kmemscope sends: of HTTP, and of clusters


class Library:
    def __init__(self, path, where):
        self.lib = ctypes.CDLL(path)
        for name, result, arguments in (("chdb_connect", ctypes.POINTER(ctypes.c_void_p), [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]),
                                        ("chdb_query", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
                                        ("chdb_result_buffer", ctypes.c_void_p, [ctypes.c_void_p]), ("chdb_result_length", ctypes.c_size_t, [ctypes.c_void_p]),
                                        ("chdb_result_error", ctypes.c_char_p, [ctypes.c_void_p]), ("chdb_destroy_query_result", None, [ctypes.c_void_p])):
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        words = (ctypes.c_char_p * 2)(b"clickhouse", f"--path={where}".encode())
        self.connection = self.lib.chdb_connect(2, words)
        if not self.connection or not self.connection[0]:
            sys.exit("chdb does not start")

    def query(self, sql):
        """Whether it worked, and the answer or the error."""
        result = self.lib.chdb_query(self.connection[0], sql, b"TabSeparated")
        error = self.lib.chdb_result_error(result)
        length = self.lib.chdb_result_length(result)
        answer = error or (ctypes.string_at(self.lib.chdb_result_buffer(result), length) if length else b"")
        self.lib.chdb_destroy_query_result(result)
        return not error, answer


class Handler(http.server.BaseHTTPRequestHandler):
    library, scratch = None, None

    def do_POST(self):
        fields = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        sql = fields.pop("query", [None])[0]
        if fields.keys() - SETTINGS:
            good, answer = False, f"Code: 115, unknown setting {fields.keys() - SETTINGS}".encode()
        elif sql is None:
            good, answer = self.library.query(body)
        else: # the engine reads rows of a file
            (self.scratch / "rows").write_bytes(body)
            insert, form = sql.rsplit(" FORMAT ", 1)
            good, answer = self.library.query(f"{insert} SELECT * FROM file('{self.scratch / 'rows'}', '{form}')".encode())
        self.send_response(200 if good else 500)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_): # pylint: disable=arguments-differ
        pass


class Engine(clickhouse.Server):
    """Starts it in a process of its own."""
    def __init__(self, library, where): # pylint: disable=super-init-not-called
        self.dir = pathlib.Path(where)
        self.dir.mkdir(parents=True)
        self.process = subprocess.Popen([sys.executable, __file__, library, self.dir], stdout=subprocess.PIPE, text=True, preexec_fn=clickhouse.dies_with_parent)
        port = self.process.stdout.readline().strip()
        if not port:
            raise clickhouse.Error("chdb does not start")
        self.url = f"http://127.0.0.1:{port}/"


def main():
    library, where = sys.argv[1], pathlib.Path(sys.argv[2])
    Handler.scratch = where
    Handler.library = Library(library, where / "data")
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
