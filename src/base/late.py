#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only
"""Makes the header by which a source file loads a library late (base/late.h): late.py LATE.SO NAME PREFIX SOURCE

LATE.SO is a library that is linked with those that are loaded late: it has the names that the loader knows them by. NAME
is that of the library, with PREFIX all its functions begin. The header goes to standard output."""
import pathlib
import re
import subprocess
import sys

OPAQUE = re.compile(r'"(\\.|[^"\\\n])*"|/\*.*?\*/', re.S)


def main():
    late, name, prefix, source = sys.argv[1:]
    needed = subprocess.run(["readelf", "-d", "-W", late], stdout=subprocess.PIPE, text=True, check=True).stdout
    library = re.search(rf"\(NEEDED\).*\[(lib{name}[-.][^\]]*)\]", needed)
    if not library:
        sys.exit(f"late.py: {late} does not need lib{name}")
    text = OPAQUE.sub("", pathlib.Path(source).read_text(encoding="utf-8"))
    functions = sorted(set(re.findall(rf"\b{prefix}\w+(?=\()", text)))
    print(f"/* Made by late.py of {pathlib.Path(source).name}. */\n#include \"base/late.h\"\n\nstatic struct {{")
    print("\n".join(f"\t__typeof__(&{function}) {function};" for function in functions))
    print(f"}} late_{name};\n\nstatic inline int ks_late_{name}(struct ks_diag *diag)\n{{")
    print("\tstatic const char *const names[] = {", ", ".join(f'"{function}"' for function in functions), "};\n")
    print(f"\treturn ks_late_load(\"{library[1]}\", names, ARRAY_SIZE(names), &late_{name}, diag);\n}}\n")
    for function in functions:
        print(f"#undef {function}\n#define {function} late_{name}.{function}")


main()
