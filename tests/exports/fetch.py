#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Programs that tests read exports with: fetch.py PACKAGE prints the directory that it is in.

The versions and checksums are those of package-lock.json. What is fetched is kept in the cache
directory, under its checksum; npm itself is not needed. Exits with 1 and a reason where the package
cannot be had.
"""
import base64
import fcntl
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import urllib.error
import urllib.request

REGISTRY = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
LOCK = pathlib.Path(__file__).resolve().parent / "package-lock.json"


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("KMEMSCOPE_CACHE") or pathlib.Path(base) / "kmemscope")


def download(name, version, integrity):
    url = f"{REGISTRY}/{name}/-/{name.rsplit('/', 1)[-1]}-{version}.tgz"
    with urllib.request.urlopen(url, timeout=60) as answer:
        data = answer.read()
    kind, _, wanted = integrity.partition("-")
    if base64.b64encode(hashlib.new(kind, data).digest()).decode() != wanted:
        raise ValueError(f"{url} is not the file that package-lock.json names")
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
    except (OSError, ValueError, urllib.error.URLError) as problem:
        sys.exit(f"{sys.argv[1]} cannot be fetched: {problem}")


if __name__ == "__main__":
    main()
