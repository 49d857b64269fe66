#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fetches programs that tests use to read exports: fetch.py PACKAGE prints the package's directory.

The versions and checksums are those of package-lock.json. npm fetches the packages by name. They are kept in
the cache directory, under their checksum. Exits with 1 and a reason if the package is not available.
"""
import base64
import fcntl
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

LOCK = pathlib.Path(__file__).resolve().parent / "package-lock.json"


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("KMEMSCOPE_CACHE") or pathlib.Path(base) / "kmemscope")


def download(name, version, integrity):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=place, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        data = next(pathlib.Path(place).glob("*.tgz")).read_bytes()
    kind, _, wanted = integrity.partition("-")
    if base64.b64encode(hashlib.new(kind, data).digest()).decode() != wanted:
        raise ValueError(f"npm's {name}@{version} is not the file that package-lock.json names")
    return data


def fetch(name):
    package = json.loads(LOCK.read_text(encoding="utf-8"))["packages"][f"node_modules/{name}"]
    key = hashlib.sha256(package["integrity"].encode()).hexdigest()[:16]
    cache = cache_dir() / "exports"
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / key
    with open(cache / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            data = download(name, package["version"], package["integrity"])
            unpacked = cache / f"{key}.tmp"
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(unpacked)
            unpacked.rename(place)
    return place / "package"


def main():
    try:
        print(fetch(sys.argv[1]))
    except (OSError, ValueError, StopIteration, subprocess.SubprocessError) as problem:
        sys.exit(f"{sys.argv[1]} cannot be fetched: {problem}")


if __name__ == "__main__":
    main()
