#!/usr/bin/env python3
"""What libtrellis_c exports is what include/trellis/c_api.h declares, and nothing else.

  exports_test.py --library build/release/libtrellis_c.so
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    library = parser.parse_args().library
    with open(os.path.join(ROOT, "include", "trellis", "c_api.h"), encoding="utf-8") as f:
        declared = set(re.findall(r"^TRELLIS_C_API [^;(]*?(\w+)\(", f.read(), re.M))
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    exported = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    # What a sanitizer adds to every library.
    exported = {name for name in exported if not name.startswith(("__asan", "__odr_asan", "__tsan", "__sanitizer"))}
    if len(declared) < 30:
        sys.exit(f"exports_test: {len(declared)} functions found in c_api.h, expected at least 30")
    if exported != declared:
        sys.exit(f"exports_test: exported and not declared: {sorted(exported - declared)}; "
                 f"declared and not exported: {sorted(declared - exported)}")
    print(f"exports_test: {len(exported)} functions")


if __name__ == "__main__":
    main()
