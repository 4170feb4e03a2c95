#!/usr/bin/env python3
"""third_party/README.md names each package that something here asks for, with a licence and a reason, and no other.

  third_party_test.py ROOT

Asked for: tools/packages.txt; each requirements.txt; what a pyproject.toml wants; "NAME==VERSION" in a script; crates of
tools/unicode_crates.py; npm's NAME@VERSION.
"""
import os
import re
import subprocess
import sys

PINNED = re.compile(r"""["']([A-Za-z][\w.-]*)==\d""")
WANTED = re.compile(r"""["']([A-Za-z][\w.-]*)[=>]=\d""")
NPM = re.compile(r"""(?:npm pack --silent |PACKAGE = ")([a-z][a-z-]*)@\d""")
CRATE = re.compile(r'^    "([a-z-]+)": \("\d', re.M)


def same(name):
    """As PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def listed(root):
    done = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if done.returncode != 0:  # an unpacked archive
        return [os.path.relpath(os.path.join(folder, leaf), root) for top in ("tools", "tests", "bench", "python")
                for folder, _, leaves in os.walk(os.path.join(root, top)) for leaf in leaves]
    return [path for path in done.stdout.splitlines() if os.path.isfile(os.path.join(root, path))]


def asked_for(root):
    """Name: where it is asked for."""
    names = {}
    for line in read(root, "tools/packages.txt").splitlines():
        if line and not line.startswith("#"):
            for name in line.split()[1].split("|"):
                names[name] = "tools/packages.txt"
    for path in listed(root):
        leaf = os.path.basename(path)
        if leaf == "requirements.txt":
            found = re.findall(r"^([A-Za-z][\w.-]*)", read(root, path), re.M)
        elif leaf == "pyproject.toml":
            found = WANTED.findall(read(root, path))
        elif path == "tools/unicode_crates.py":
            found = CRATE.findall(read(root, path))
        elif path.split("/")[0] in ("tools", "bench", "tests") and (leaf.endswith(".py") or "." not in leaf):
            text = read(root, path)
            found = PINNED.findall(text) + NPM.findall(text)
        else:
            continue
        for name in found:
            names.setdefault(name, path)
    return names


def main():
    root = os.path.abspath(sys.argv[1])
    faults, rows = [], {}
    for number, line in enumerate(read(root, "third_party/README.md").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        packages = re.findall(r"`([^`]+)`", cells[0])
        if not line.startswith("| `") or len(cells) != 3:
            continue
        if not cells[1] or not cells[2]:
            faults.append(f"third_party/README.md:{number}: no licence or no reason, expected both")
        rows.update({same(package): number for package in packages})
    names = asked_for(root)
    for name, path in sorted(names.items()):
        if same(name) not in rows:
            faults.append(f"third_party/README.md: no {name}, which {path} asks for")
    known = {same(name) for name in names}
    for name, number in sorted(rows.items()):
        if name not in known:
            faults.append(f"third_party/README.md:{number}: {name}, which nothing asks for")
    for fault in faults:
        print(f"third_party_test: {fault}")
    print(f"third_party_test: {len(names)} packages")
    sys.exit(1 if faults or not names else 0)


if __name__ == "__main__":
    main()
