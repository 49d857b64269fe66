#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kmemscope serve and those who read it: serve.py KMEMSCOPE. Prints TAP.

Metrics go to promtool and to a Prometheus server, profiles to "go tool pprof". OpenTelemetry's profiles are decoded
by protoc, with a schema. Then come requests that no client should send, clients that stop in the middle, and many
scrapes, after which memory and files must be what they were.
"""
import ast
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import tap  # noqa: E402

KMEMSCOPE = sys.argv[1]
PATIENCE = 120


class Server:
    """The program, at a port of its own choice."""

    def __init__(self, *options, env=None, address="127.0.0.1:0", before=()):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen([*before, KMEMSCOPE, "serve", "--listen", address, *options], stderr=self.log,
                                        stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        self.port = None
        end = time.monotonic() + PATIENCE
        while self.port is None and self.process.poll() is None and time.monotonic() < end:
            match = re.search(r"serving at port (\d+)", self.said())
            self.port = int(match[1]) if match else None
            time.sleep(0.05)

    def said(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def get(self, path, headers=None, method="GET"):
        """Status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def samples(text):
    """Prometheus's text format: values by name and label."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in found, f"twice: {name}"
            found[name] = float(value)
    return found


# === OpenTelemetry's profiles ==================================================================


def message(lines):
    """What protoc prints: a message is a list of values by the name of its field, a value another message or text."""
    found = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        name, _, value = line.partition(" ")
        # A field that the schema does not have is printed by its number.
        assert not name[0].isdigit(), f"no field of the schema: {line}"
        if value == "{":
            found.setdefault(name, []).append(message(lines))
        else:
            found.setdefault(name.removesuffix(":"), []).append(
                ast.literal_eval("b" + value).decode("utf-8") if value.startswith('"') else int(value))
    return found


def decode(data):
    """By protoc and a schema: that of KMEMSCOPE_OTLP_PROTO, or the part of it that is here."""
    schema = os.environ.get("KMEMSCOPE_OTLP_PROTO")
    file = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto" if schema else "profiles.proto"
    done = subprocess.run(["protoc", f"--proto_path={schema or pathlib.Path(__file__).parent}",
                           "--decode=opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest", file],
                          input=data, capture_output=True, check=True)
    return message(iter(done.stdout.decode("utf-8").splitlines()))


def one(value, name, default=0):
    (only,) = value.get(name, [default])
    return only


def otlp(data):
    """Profiles of an ExportProfilesServiceRequest: (type, unit), and a list of (frames, cache, value)."""
    request = decode(data)
    dictionary = one(request, "dictionary")
    tables = [dictionary[name + "_table"] for name in ("mapping", "location", "function", "link", "attribute", "stack")]
    _, locations, functions, _, attributes, stacks = tables
    strings = dictionary["string_table"]
    assert strings[0] == "" and not any(table[0] for table in tables)
    resource = one(request, "resource_profiles")
    assert one(one(one(resource, "resource"), "attributes"), "key") == "service.name"
    scope = one(resource, "scope_profiles")
    assert one(one(scope, "scope"), "name") == "kmemscope"
    profiles = {}
    for profile in scope["profiles"]:
        kind = one(profile, "sample_type")
        rows = []
        for sample in profile.get("samples", []):
            frames = [strings[one(functions[one(one(locations[at], "lines"), "function_index")], "name_strindex")]
                      for at in stacks[one(sample, "stack_index")].get("location_indices", [])]
            cache = None
            for index in filter(None, sample.get("attribute_indices", [])):
                assert strings[one(attributes[index], "key_strindex")] == "cache"
                cache = one(one(attributes[index], "value"), "string_value")
            rows.append((frames, cache, one(sample, "values")))
        assert one(profile, "time_unix_nano") > 1_600_000_000 * 10**9
        profiles[strings[one(kind, "type_strindex")], strings[one(kind, "unit_strindex")]] = rows
    return profiles


# === Tests =====================================================================================


def test_metrics(server):
    status, headers, body = server.get("/metrics")
    text = body.decode("utf-8")
    tap.check("metrics: Prometheus's text", status == 200 and "version=0.0.4" in headers["Content-Type"], headers)
    found = samples(text)
    slab = {name: value for name, value in found.items() if name.startswith("kmemscope_slab_live_bytes{")}
    tap.check("metrics: --top names and other", len(slab) == 6 and 'kmemscope_slab_live_bytes{cache="other"}' in slab, slab)
    meminfo = dict(re.findall(r"(\w+):\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="ascii")))
    tap.check("metrics: MemTotal is the kernel's own", found['kmemscope_memory_bytes{kind="total"}'] == int(meminfo["MemTotal"]) * 1024)
    # Objects are less than their slabs; a machine that is at work changes meanwhile, but not by half.
    tap.check("metrics: caches add up to most of Slab, and to no more",
              0.5 < sum(slab.values()) / found['kmemscope_memory_bytes{kind="slab"}'] < 1.2, slab)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, check=False)
        tap.check("promtool finds nothing wrong", done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr)
    else:
        tap.skip("promtool", "not installed")
    status, headers, body = server.get("/metrics", {"Accept": "application/openmetrics-text;version=1.0.0"})
    lines = body.decode("utf-8").splitlines()
    families = [line.split()[2] for line in lines if line.startswith("# TYPE") and line.endswith(" counter")]
    tap.check("OpenMetrics: its type and its end", "openmetrics-text" in headers["Content-Type"] and lines[-1] == "# EOF", headers)
    tap.check("OpenMetrics: families of counters without _total", families and not any(name.endswith("_total") for name in families)
              and all(any(line.startswith(name + "_total") for line in lines) for name in families), families)
    units = [line.split()[2:] for line in lines if line.startswith("# UNIT")]
    tap.check("OpenMetrics: names end in their unit", units and all(name.endswith("_" + unit) for name, unit in units), units)


def expressions(instance):
    """Those of the dashboard, with what Grafana would put in, by the titles of panels; and what fills its variable."""
    board = json.loads((pathlib.Path(__file__).resolve().parents[2] / "packaging" / "grafana" / "dashboards" / "kernel.json").read_text(encoding="utf-8"))
    (variable,) = board["templating"]["list"]
    return {panel["title"]: target["expr"].replace("$instance", instance) for panel in board["panels"] for target in panel["targets"]}, \
        re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()


def test_dashboard(ask, still):
    """Of a server that looks once, all answers are known: they are those of its metrics."""
    instance = f"127.0.0.1:{still.port}"
    panels, (metric, label) = expressions(instance)
    tap.check("the dashboard finds its hosts", instance in ask(f"label/{label}/values", "match[]", metric))
    found = samples(still.get("/metrics")[2].decode())

    def of_labels(name, label):
        return {row["metric"][label]: float(row["value"][1]) for row in ask("query", "query", panels[name])["result"]}

    def said(name, label):
        return {match[1]: value for key, value in found.items() if (match := re.fullmatch(f'{name}{{{label}="(.*)"}}', key))}

    for title, name, label in (("Slab memory by cache", "kmemscope_slab_live_bytes", "cache"), ("Objects by cache", "kmemscope_slab_live_objects", "cache"),
                               ("Memory", "kmemscope_memory_bytes", "kind")):
        got, want = of_labels(title, label), said(name, label)
        if label == "cache":
            tap.check(f"dashboard: {title}: the ten with most", sorted(got.values()) == sorted(want.values())[-10:] and got.items() <= want.items(), (got, want))
        else:
            tap.check(f"dashboard: {title}", got == want and len(got) > 5, (got, want))
    for title, label in (("Events missed a second", "reason"), ("CPU time of kmemscope, share of a core", "instance")):
        got = of_labels(title, label)
        tap.check(f"dashboard: {title}: nothing since", got and not any(got.values()), got)
    tap.check("every expression of the dashboard is held against the metrics", len(panels) == 5, panels)


def test_prometheus(server, scratch):
    """A real server scrapes, and gives back what it has kept."""
    if not shutil.which("prometheus"):
        tap.skip("a Prometheus server", "not installed")
        return
    still = Server("--interval", "1h", "--top", "20")
    config = scratch / "prometheus.yml"
    config.write_text("scrape_configs:\n- job_name: kernel\n  scrape_interval: 1s\n  scrape_timeout: 1s\n"
                      f"  static_configs:\n  - targets: ['127.0.0.1:{server.port}', '127.0.0.1:{still.port}']\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(scratch / "prometheus.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={scratch / 'tsdb'}",
                                    f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)

    def ask(what, name=None, value=None):
        query = "?" + urllib.parse.urlencode({name: value}) if name else ""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{what}{query}", timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def rates(one):
        """Of a counter there is a rate once it was read twice."""
        return ask("query", "query", f'rate(kmemscope_cpu_seconds_total{{instance="127.0.0.1:{one.port}"}}[5m])')["result"]

    names, result, both = [], [], False
    end = time.monotonic() + PATIENCE
    while not (result and both) and time.monotonic() < end:
        time.sleep(0.3)
        try:
            result = ask("query", "query", f'kmemscope_slab_live_bytes{{instance="127.0.0.1:{server.port}"}}')["result"]
            names = ask("targets")["activeTargets"]
            both = rates(still) and any(float(row["value"][1]) for row in rates(server))
        except OSError:
            pass
    caches = {row["metric"]["cache"] for row in result}
    tap.check("a Prometheus server has the metrics", len(caches) == 6 and "other" in caches, result or (scratch / "prometheus.log").read_text())
    tap.check("and finds the targets well", len(names) == 2 and all(one["health"] == "up" and not one["lastError"] for one in names), names)
    tap.check("what works has a rate of CPU time", both)
    if both:
        test_dashboard(ask, still)
        panels, _ = expressions(f"127.0.0.1:{server.port}")
        busy = ask("query", "query", panels["CPU time of kmemscope, share of a core"])["result"]
        tap.check("dashboard: CPU time of one that looks often", len(busy) == 1 and 0 < float(busy[0]["value"][1]) < os.cpu_count(), busy)
    process.terminate()
    process.wait()
    still.stop()


def test_profiles(server, scratch):
    for kind in ("heap", "allocs"):
        status, _, body = server.get(f"/debug/pprof/{kind}")
        file = scratch / f"{kind}.pb.gz"
        file.write_bytes(body)
        if not shutil.which("go"):
            tap.skip(f"pprof: {kind}", "no go")
            continue
        done = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=1000000", "-nodefraction=0", "-unit=B", str(file)],
                              capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(scratch)})
        total = re.search(r"of (\d+)B total", done.stdout)
        tap.check(f"pprof: {kind} is read by go tool pprof", status == 200 and done.returncode == 0 and "Type: inuse_space" in done.stdout,
                  done.stdout + done.stderr)
        if kind == "heap":
            slab = samples(server.get("/metrics")[2].decode())['kmemscope_memory_bytes{kind="slab"}']
            tap.check("pprof: the heap adds up to most of Slab", total and 0.5 < int(total[1]) / slab < 1.2, done.stdout[:500])
            tap.check("pprof: a type that every kernel has", re.search(r"\bdentry$", done.stdout, re.M), done.stdout[:500])


def test_otlp(server):
    if not shutil.which("protoc"):
        tap.skip("OTLP", "no protoc")
        return
    # Something must have been allocated since the start: pipes, which stay open.
    kept, end, profiles = [], time.monotonic() + PATIENCE, {}
    while not any(profiles.values()) and time.monotonic() < end:
        kept += [os.pipe() for _ in range(100) if len(kept) < 400]
        status, headers, body = server.get("/v1development/profiles")
        profiles = otlp(body)
        time.sleep(0.2)
    for ends in kept:
        os.close(ends[0])
        os.close(ends[1])
    space, objects = profiles.get(("inuse_space", "bytes")), profiles.get(("inuse_objects", "count"))
    tap.check("OTLP: bytes and objects", status == 200 and headers["Content-Type"] == "application/x-protobuf" and space
              and objects and len(space) == len(objects), list(profiles))
    tap.check("OTLP: the same stacks in both", [row[:2] for row in space] == [row[:2] for row in objects])
    tap.check("OTLP: every sample has frames, a cache and a value", all(frames and cache and value for frames, cache, value in space),
              [row for row in space if not all(row)][:5])
    tap.check("OTLP: no address is told", not any(re.match("0x[0-9a-f]", frame) for row in space for frame in row[0]))


def test_page(server):
    for path, kind in (("/", "text/html"), ("/live.js", "text/javascript"), ("/live.css", "text/css"), ("/live.json", "application/json")):
        status, headers, body = server.get(path)
        tap.check(f"{path}: {kind}", status == 200 and headers["Content-Type"].startswith(kind) and body
                  and headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff", headers)
    doc = json.loads(server.get("/live.json?by=type")[2])
    tap.check("rows by type", doc["by"] == "type" and doc["schema"] == "kmemscope-live-1")


def raw(server, data, read=True):
    """Bytes as they are, over a connection of their own; the first line of the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(data)
            return connection.recv(4096).split(b"\r\n")[0] if read else b""
        except (ConnectionResetError, BrokenPipeError):
            return b"reset"


def test_odd_requests(server):
    local = b"Host: localhost\r\n\r\n"
    tap.check("nothing there: 404", server.get("/nothing")[0] == 404)
    tap.check("a way out of the tree: 404", server.get("/../../etc/passwd")[0] == 404)
    tap.check("another grouping: 400", server.get("/live.json?by=magic")[0] == 400)
    status, headers, _ = server.get("/metrics", method="POST")
    tap.check("POST: 405, with what is allowed", status == 405 and headers["Allow"] == "GET, HEAD", status)
    status, headers, body = server.get("/metrics", method="HEAD")
    tap.check("HEAD: no body", status == 200 and not body and int(headers["Content-Length"]) > 1000)
    tap.check("a name of another machine: 403", server.get("/metrics", {"Host": "evil.example"})[0] == 403)
    tap.check("no name at all: refused", raw(server, b"GET /metrics HTTP/1.0\r\n\r\n").split()[1:2] in ([b"403"], [b"400"]))
    answers = {
        "noise": raw(server, os.urandom(3000) + b"\r\n\r\n"),
        "a path of 1 MB": raw(server, b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n" + local),
        "100,000 headers": raw(server, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000 + local),
        "a header of 1 MB": raw(server, b"GET / HTTP/1.1\r\nX: " + b"y" * 1000000 + b"\r\n" + local),
        "another protocol": raw(server, b"GET / HTTP/9.9\r\n" + local),
        "a NUL": raw(server, b"GET /\0metrics HTTP/1.1\r\n" + local),
        "half an escape": raw(server, b"GET /%f HTTP/1.1\r\n" + local),
        "a body without end": raw(server, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: localhost\r\n\r\nffffffff\r\n"),
    }
    tap.check_none("odd requests are refused", [f"{name}: {answer}" for name, answer in answers.items()
                                                if not (answer in (b"", b"reset") or re.match(rb"HTTP/1\.[01] [45]\d\d ", answer)
                                                        or name in ("another protocol", "a NUL"))])
    tap.check("and the server is still there", server.process.poll() is None and server.get("/metrics")[0] == 200)


def test_crowd(server):
    """More clients than there is room for, none of which says all of its request."""
    crowd = []
    for _ in range(60):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: local")
        crowd.append(client)
    tap.check("a crowd takes no more files than the limit", server.files() < 60, server.files())
    # Those that say nothing more are dropped after some seconds; then there is room again.
    end, answer = time.monotonic() + PATIENCE, None
    while answer != 200 and time.monotonic() < end:
        try:
            answer = server.get("/metrics")[0]
        except OSError:
            time.sleep(0.5)
    tap.check("slow clients are dropped, and others served", answer == 200)
    for client in crowd:
        client.close()


def test_stability(server):
    paths = ["/metrics", "/debug/pprof/heap", "/debug/pprof/allocs", "/live.json", "/v1development/profiles"]
    for _ in range(30):
        for path in paths:
            server.get(path)
    files, before = server.files(), server.resident()
    for _ in range(100):
        for path in paths:
            server.get(path)
    after = server.resident()
    tap.check("500 answers: no more files", server.files() <= files + 1, f"{files} and {server.files()}")
    if "asan" in pathlib.Path(f"/proc/{server.process.pid}/maps").read_text(encoding="ascii"):
        tap.skip("and no more memory", "AddressSanitizer keeps what was freed")
    else:
        tap.check("and no more memory", after < before + (8 << 20), f"{before} and {after}")


def test_doors(scratch):
    token = scratch / "token"
    token.write_text("0123456789abcdef-secret\n", encoding="ascii")
    token.chmod(0o600)
    refused = tap.run(KMEMSCOPE, "serve", "--listen", "0.0.0.0:0", status=1)
    tap.check("an address for all needs --remote and a token", "--remote and a token, or certificates" in refused.stderr, refused.stderr)
    refused = tap.run(KMEMSCOPE, "serve", "--listen", "0.0.0.0:0", "--remote", status=1)
    tap.check("--remote alone is not enough", "--remote and a token" in refused.stderr, refused.stderr)
    for bad in ("9155", "localhost", "1.2.3:80", "127.0.0.1:99999", "[::1:80", "::1:80", "example.org:80"):
        refused = tap.run(KMEMSCOPE, "serve", "--listen", bad, status=1)
        tap.check(f"no address: {bad}", "no address" in refused.stderr, refused.stderr)
    token.chmod(0o644)
    refused = tap.run(KMEMSCOPE, "serve", "--token-file", token, status=1)
    tap.check("a token that others may read", "chmod 600" in refused.stderr, refused.stderr)
    token.chmod(0o600)
    server = Server("--remote", "--token-file", str(token), address="0.0.0.0:0")
    tap.check("without the token: 401", server.get("/metrics")[0] == 401)
    tap.check("with another: 401", server.get("/metrics", {"Authorization": "Bearer 0123456789abcdef-secrex"})[0] == 401)
    tap.check("with its beginning: 401", server.get("/metrics", {"Authorization": "Bearer 0123456789abcdef"})[0] == 401)
    tap.check("with it: 200", server.get("/metrics", {"Authorization": "Bearer 0123456789abcdef-secret"})[0] == 200)
    basic = "Basic OjAxMjM0NTY3ODlhYmNkZWYtc2VjcmV0"  # ":0123456789abcdef-secret"
    tap.check("as a password: 200", server.get("/metrics", {"Authorization": basic})[0] == 200)
    tap.check("OTLP is served on request alone: 404",
              server.get("/v1development/profiles", {"Authorization": basic})[0] == 404)
    tap.check("SIGINT ends it", server.stop(signal.SIGINT) == 0, server.said())


def certificates(scratch):
    """A signer of its own, and what it signed; and a client of another signer."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=scratch)

    for signer in ("signer", "stranger"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={signer}", "-keyout", f"{signer}.key", "-out", f"{signer}.pem")
    for name, signer in (("server", "signer"), ("client", "signer"), ("other", "stranger")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (scratch / "ext").write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{signer}.pem", "-CAkey", f"{signer}.key", "-CAcreateserial",
                "-days", "1", "-extfile", "ext", "-out", f"{name}.pem")
        (scratch / f"{name}.key").chmod(0o600)


def ask_tls(port, scratch, client=None):
    """The status of an answer, or None where the other side ended the handshake."""
    context = ssl.create_default_context(cafile=scratch / "signer.pem")
    if client:
        context.load_cert_chain(scratch / f"{client}.pem", scratch / f"{client}.key")
    try:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
        connection.request("GET", "/metrics")
        return connection.getresponse().status
    except (ssl.SSLError, ConnectionError):
        return None


def test_tls(scratch):
    certificates(scratch)
    cert, key = str(scratch / "server.pem"), str(scratch / "server.key")
    refused = tap.run(KMEMSCOPE, "serve", "--tls-cert", cert, status=1)
    tap.check("a certificate needs its key", "--tls-key" in refused.stderr, refused.stderr)
    refused = tap.run(KMEMSCOPE, "serve", "--tls-cert", cert, "--tls-key", scratch / "client.key", "--listen", "127.0.0.1:0", status=3)
    tap.check("and not the key of another", "do not fit" in refused.stderr, refused.stderr)
    (scratch / "server.key").chmod(0o644)
    refused = tap.run(KMEMSCOPE, "serve", "--tls-cert", cert, "--tls-key", key, status=1)
    tap.check("a key that others may read", "chmod 600" in refused.stderr, refused.stderr)
    (scratch / "server.key").chmod(0o600)
    server = Server("--remote", "--tls-cert", cert, "--tls-key", key, "--tls-clients", str(scratch / "signer.pem"), address="0.0.0.0:0")
    tap.check("TLS: beyond this machine with certificates of clients alone", server.port, server.said())
    if not server.port:
        return
    tap.check("TLS: a client with a certificate is answered", ask_tls(server.port, scratch, "client") == 200)
    tap.check("TLS: one without is not", ask_tls(server.port, scratch) in (403, None))
    tap.check("TLS: one of another signer is not", ask_tls(server.port, scratch, "other") in (403, None))
    try:
        plain = server.get("/metrics")[0]
    except (OSError, http.client.HTTPException):
        plain = None
    tap.check("TLS: plain HTTP is not answered", plain != 200, plain)
    tap.check("TLS: SIGTERM ends it", server.stop() == 0, server.said())


def test_config(scratch):
    config = scratch / "serve.conf"
    config.write_text("# the kernel's memory\nlisten = 127.0.0.1:1   # overridden\n top=3\n\nlevel = census\ninterval = 1m\notlp = v1development\n",
                      encoding="utf-8")
    server = Server("--config", str(config))
    found = samples(server.get("/metrics")[2].decode())
    tap.check("settings of a file", sum(name.startswith("kmemscope_slab_live_bytes") for name in found) == 4)
    tap.check("and what is off without them", server.get("/v1development/profiles")[0] == 200)
    server.stop()
    for text, why in (("top = many", "serve.conf:1"), ("\nlisten", "serve.conf:2: a line is"), ("colour = red", "serve.conf:1"),
                      ("remote = perhaps", "serve.conf:1"), ("T O P = 1", "no name"), ("top\0=1", "no text")):
        config.write_text(text, encoding="utf-8")
        refused = tap.run(KMEMSCOPE, "serve", "--config", config, status=3)
        tap.check(f"a setting that is refused: {text!r}", why in refused.stderr, refused.stderr)


def test_systemd(scratch):
    """systemd's side of the protocol: a socket that hears READY=1, then WATCHDOG=1, then STOPPING=1."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(scratch / "notify"))
        heard.settimeout(PATIENCE)
        server = Server("--interval", "200ms", env={"NOTIFY_SOCKET": str(scratch / "notify"), "WATCHDOG_USEC": "3000000"})
        words = [heard.recv(4096).decode() for _ in range(3)]
        tap.check("READY=1 first, then WATCHDOG=1", words[0].startswith("READY=1") and words[1:] == ["WATCHDOG=1"] * 2, words)
        server.stop()
        last = ""
        while not last.startswith("STOPPING=1"):
            last = heard.recv(4096).decode()
        tap.check("STOPPING=1 last", last == "STOPPING=1")


def test_service():
    """The unit's own capabilities suffice, and systemd's judgement of its hardening."""
    unit = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "systemd" / "kmemscope-serve.service"
    text = unit.read_text(encoding="utf-8")
    kept = re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)[1].split()
    bounds = "-all," + ",".join("+" + name.removeprefix("CAP_").lower() for name in kept)
    server = Server("--level", "growth", "--interval", "500ms", before=["setpriv", "--bounding-set", bounds, "--inh-caps", "-all"])
    tap.check("it needs no more than the unit's capabilities", server.port and server.get("/metrics")[0] == 200, server.said())
    if server.port:
        found = samples(server.get("/metrics")[2].decode())
        tap.check("level 1 with them", found["kmemscope_level"] == 1 and found["kmemscope_look_failing"] == 0)
        server.stop()
    if not shutil.which("systemd-analyze"):
        tap.skip("systemd-analyze security", "not installed")
        return
    said = tap.run("systemd-analyze", "security", "--offline=true", "--no-pager", unit).stdout
    level = re.search(r"exposure level.*: ([0-9.]+)", said)
    tap.check("systemd-analyze security: at most 3.0", level and float(level[1]) <= 3.0, said[-300:])
    command = re.search(r"^ExecStart=\S+ (.*)$", text, re.M)[1]
    tap.check("the unit's command has options that are known",
              all(word in tap.run(KMEMSCOPE, "serve", "--help").stdout for word in re.findall("--[a-z-]+", command)), command)


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        server = Server("--level", "growth", "--interval", "500ms", "--top", "5", "--otlp", "v1development")
        if server.port is None:
            server.process.wait(PATIENCE)
            server = Server("--interval", "500ms", "--top", "5", "--otlp", "v1development")
        if server.port is None:
            tap.skip("kmemscope serve", server.said().strip().replace("\n", " ")[:200])
            return
        test_metrics(server)
        test_prometheus(server, scratch)
        test_profiles(server, scratch)
        test_otlp(server)
        test_page(server)
        test_odd_requests(server)
        test_crowd(server)
        test_stability(server)
        tap.check("SIGTERM ends it", server.stop() == 0, server.said())
        test_doors(scratch)
        test_tls(scratch)
        test_config(scratch)
        test_systemd(scratch)
        test_service()


main()
sys.exit(tap.finish())
