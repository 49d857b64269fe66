# SPDX-License-Identifier: GPL-2.0-only
"""Debian's clickhouse-server, unpacked into the cache and started on loopback for the time of a test.

Nothing is installed and no init system is needed. A server has a directory of its own, free ports, and ends with
the test: close() stops it, and the kernel does if the test is killed.
"""
import ctypes
import fcntl
import hashlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

# What the server needs beside the libraries that a build of kmemscope needs itself.
ZOOKEEPER_PACKAGES = "libzookeeper-java libsnappy-java libnetty-java libslf4j-java libcommons-cli-java libdropwizard-metrics-java".split()
JARS = "zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java netty-all commons-cli".split()
PACKAGES = """clickhouse-server clickhouse-common libboost-filesystem1.74.0 libboost-program-options1.74.0
    libcapnp-0.9.2 libcctz2 libcpuinfo0 libdouble-conversion3 libexpat1 libfarmhash0 libicu72 libjemalloc2 libltdl7
    liblz4-1 libmariadb3 libmetrohash1 libodbc2 libpcre3 libpococrypto80 libpocodata80 libpocodataodbc80
    libpocofoundation80 libpocojson80 libpocomongodb80 libpoconet80 libpoconetssl80 libpocoutil80 libpocoxml80
    librdkafka1 libre2-9 libreadline8 libsasl2-2 libssl3 libzstd1 libapr1""".split()

CONFIG = """<yandex>
 <logger><level>warning</level><log>{dir}/log</log><errorlog>{dir}/errors</errorlog><size>20M</size><count>1</count></logger>
 <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
 <interserver_http_port>{inter}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
 <listen_host>127.0.0.1</listen_host><max_concurrent_queries>50</max_concurrent_queries>
 <path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path><format_schema_path>{dir}/schemas/</format_schema_path>
 <users_config>{dir}/users.xml</users_config><default_profile>default</default_profile>
 <default_database>default</default_database><timezone>UTC</timezone><mark_cache_size>67108864</mark_cache_size>
{more}</yandex>
"""
CLUSTER = """ <zookeeper><node><host>127.0.0.1</host><port>{zookeeper}</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>
 <macros><shard>{shard}</shard><replica>{replica}</replica></macros>
 <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
 <remote_servers><fleet>{shards}</fleet></remote_servers>
"""
SHARD = "<shard><internal_replication>true</internal_replication>{replicas}</shard>"
REPLICA = "<replica><host>127.0.0.1</host><port>{port}</port></replica>"
USERS = """<yandex>
 <profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
 <quotas><default/></quotas>
 <users>
  <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
  <fleet><password>s3cr&amp;t</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet>
 </users>
</yandex>
"""


EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging" / "clickhouse"


def cache():
    return pathlib.Path(os.environ.get("KMEMSCOPE_CACHE") or
                        pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kmemscope")


def unpacked(packages=None, name="clickhouse"):
    """The directory of the unpacked packages, made if it is not there; None where they can't be had."""
    packages = packages or PACKAGES
    key = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    root = cache() / f"{name}-{key}"
    if os.uname().machine != "x86_64":
        return None
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "clickhouse.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if root.exists():
            return root
        work = cache() / f"{root.name}.new"
        shutil.rmtree(work, ignore_errors=True)
        (work / "debs").mkdir(parents=True)
        print(f"# preparing: {name}", flush=True)
        got = subprocess.run(["apt-get", "-q", "download", *packages], cwd=work / "debs", capture_output=True, text=True,
                             check=False)
        for deb in (work / "debs").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, work], check=True)
        shutil.rmtree(work / "debs")
        print("# prepared", flush=True)
        if got.returncode:
            print("# " + got.stderr.replace("\n", "\n# "))
            return None
        work.rename(root)
        return root


def free_ports(count):
    """Ports of the loopback that nobody listens on, of those that no client is given: who tries to reach a server that is down would else take its port."""
    sockets = []
    while len(sockets) < count:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", random.randrange(10000, 32768)))
            sockets.append(one)
        except OSError:
            one.close()
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def dies_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Error(Exception):
    pass


class Server:
    def __init__(self, root, where, ports=None, more=""):
        self.root, self.dir = root, pathlib.Path(where)
        self.process = None
        for name in ("data", "tmp", "schemas"):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        shutil.copytree(EXAMPLES, self.dir, dirs_exist_ok=True) # as a fleet's server would have them
        (self.dir / "users.xml").write_text(USERS, encoding="ascii")
        http, tcp, inter = ports or free_ports(3)
        (self.dir / "config.xml").write_text(CONFIG.format(dir=self.dir, http=http, tcp=tcp, inter=inter, more=more), encoding="ascii")
        self.url = f"http://127.0.0.1:{http}/"
        self.start()

    def start(self):
        libraries = self.root / "usr" / "lib" / "x86_64-linux-gnu"
        with open(self.dir / "output", "ab") as output:
            self.process = subprocess.Popen(
                [self.root / "usr" / "sbin" / "clickhouse-server", f"--config-file={self.dir / 'config.xml'}"],
                stdout=output, stderr=output, stdin=subprocess.DEVNULL, preexec_fn=dies_with_parent,
                env={**os.environ, "LD_LIBRARY_PATH": f"{libraries}:{self.root / 'lib' / 'x86_64-linux-gnu'}"})
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            try:
                if self.query("SELECT 1") == "1\n":
                    return
            except (Error, OSError):
                time.sleep(0.05)
        said = [(self.dir / name).read_text(errors="replace")[-2000:] for name in ("output", "errors") if (self.dir / name).exists()]
        raise Error(f"the server does not start, status {self.process.poll()}: " + "\n".join(said))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()

    def query(self, sql, data=None, **settings):
        """The answer as text. @data goes behind the statement, as the rows of an insert."""
        url = self.url + "?" + urllib.parse.urlencode({"query": sql, **settings}) if data is not None else self.url
        try:
            with urllib.request.urlopen(url, data if data is not None else sql.encode(), timeout=300) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Error(error.read().decode(errors="replace")) from error

    def rows(self, sql):
        return [line.split("\t") for line in self.query(sql).splitlines()]

    def number(self, sql):
        return int(self.query(sql))

    def sums(self, database, final="FINAL"):
        """Of all rows: their number, their bytes, their allocations. By day: FINAL has all parts that it is asked for in memory at once."""
        sums = [0, 0, 0]
        for day, in self.rows(f"SELECT DISTINCT intDiv(toUInt32(ts), 86400) FROM {database}.rows"):
            within = f"toUInt32(ts) >= {int(day) * 86400} AND toUInt32(ts) < {int(day) * 86400 + 86400}"
            row = self.rows(f"SELECT count(), sum(live_bytes), sum(allocs) FROM {database}.rows {final} WHERE {within}")[0]
            sums = [old + int(more) for old, more in zip(sums, row)]
        return dict(zip(("rows", "bytes", "allocs"), sums))


class Cluster:
    """Debian's ZooKeeper, and a cluster "fleet" of two shards with two replicas each: servers[shard][replica]."""
    def __init__(self, root, where):
        self.servers, self.zookeeper = [], None
        java = unpacked(ZOOKEEPER_PACKAGES, "zookeeper")
        if not java or not shutil.which("java"):
            raise Error("no ZooKeeper can be had here")
        where = pathlib.Path(where)
        (where / "zookeeper").mkdir(parents=True)
        ports = [[free_ports(3) for _ in range(2)] for _ in range(2)]
        port = free_ports(1)[0]
        (where / "zoo.cfg").write_text(f"tickTime=2000\ndataDir={where / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
                                       "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok\n", encoding="ascii")
        jars = ":".join(str(java / "usr" / "share" / "java" / f"{name}.jar") for name in JARS)
        with open(where / "zookeeper.log", "wb") as log:
            self.zookeeper = subprocess.Popen(["java", "-Xmx256m", "-cp", f"{where}:{jars}", "org.apache.zookeeper.server.quorum.QuorumPeerMain", where / "zoo.cfg"],
                                              stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=dies_with_parent)
        try:
            self._wait(port)
            shards = "".join(SHARD.format(replicas="".join(REPLICA.format(port=replica[1]) for replica in shard)) for shard in ports)
            for shard in range(2):
                self.servers.append([Server(root, where / f"server{shard}{replica}", ports[shard][replica],
                                            CLUSTER.format(zookeeper=port, shard=shard, replica=replica, shards=shards)) for replica in range(2)])
        except Error:
            self.close()
            raise

    def _wait(self, port):
        for _ in range(1200):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                    connection.sendall(b"ruok")
                    if connection.recv(4) == b"imok":
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise Error("ZooKeeper does not start")

    def close(self):
        for shard in self.servers:
            for server in shard:
                server.close()
        if self.zookeeper:
            self.zookeeper.kill()
            self.zookeeper.wait()
