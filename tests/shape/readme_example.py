#!/usr/bin/env python3
"""Writes the C++ block that follows the line "<!-- README example -->" into a file: readme_example.py README OUT"""
import os
import re
import sys

readme, out = sys.argv[1:]
with open(readme, encoding="utf-8") as f:
    match = re.search(r"<!-- README example -->\s*```cpp\n(.*?)```", f.read(), flags=re.S)
if not match:
    sys.exit(f"{readme}: no ```cpp block follows the line <!-- README example -->")
lines = match[1].rstrip("\n").split("\n")
code = [line for line in lines if line.strip()]
if len(code) > 12:
    sys.exit(f"{readme}: the example has {len(code)} lines of code; it promises about ten")
try:
    with open(out, encoding="utf-8") as f:
        if f.read() == match[1]:
            sys.exit(0)  # keeps the time stamp, so that nothing is compiled again
except OSError:
    os.makedirs(os.path.dirname(out), exist_ok=True)
with open(out, "w", encoding="utf-8") as f:
    f.write(match[1])
