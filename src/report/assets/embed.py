#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only
"""embed.py TEMPLATE STYLE SCRIPT... OUTPUT: puts style and scripts into the page, and writes it as C source.

The page can run only these scripts and this style: its content security policy has their hashes.
"""
import base64
import hashlib
import pathlib
import sys


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def c_array(name, data):
    rows = (", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24))
    body = ",\n\t".join(rows)
    return (f"const unsigned char {name}[] = {{\n\t{body}\n}};\n"
            f"const size_t {name}_len = sizeof({name});\n")


def main():
    template, style_path, *script_paths, output = map(pathlib.Path, sys.argv[1:])
    style = style_path.read_text(encoding="utf-8")
    # One function around all scripts, so that nothing is global.
    script = '"use strict";\n(() => {\n' + "\n".join(
        path.read_text(encoding="utf-8") for path in script_paths) + "})();\n"
    page = template.read_text(encoding="utf-8")
    for mark, text in (("@STYLE_HASH@", digest(style)), ("@SCRIPT_HASH@", digest(script)),
                       ("@STYLE@", style), ("@SCRIPT@", script)):
        if page.count(mark) != 1:
            sys.exit(f"{template}: {mark} must occur exactly once")
        page = page.replace(mark, text)
    before, after = page.split("@DATA@")
    output.write_text('/* Made by embed.py. */\n#include "report/html-assets.h"\n\n'
                      + c_array("ks_html_before", before.encode())
                      + c_array("ks_html_after", after.encode()), encoding="utf-8")


if __name__ == "__main__":
    main()
