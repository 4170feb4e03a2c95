#!/usr/bin/env python3
"""tools/check_layers.py finds each kind of fault in a small house that has one of it, and none in a sound one."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "tools", "check_layers.py")

SOUND = {
    "README.md": "# House\nSee `src/text/runes.cc` and [the room](src/README.md).\n",
    "src/README.md": "`runes.cc` counts.\n",
    "include/trellis/encoding.h": "#include <span>\n",
    "include/trellis/internal/text/runes.h": "#include <cstdint>\n",
    "include/trellis/internal/trie/walk.h": "#include <cstdint>\n",
    "include/trellis/internal/stage/cut.h": '#include "trellis/internal/text/runes.h"\n#include "trellis/encoding.h"\n',
    "src/text/runes.cc": '#include "trellis/internal/text/runes.h"\n',
    "src/tokenizer.cc": '#include "trellis/internal/stage/cut.h"\n',
    "src/load.cc": '#include "src/format/json.h"\n',
    "src/format/json.h": "#include <simdjson.h>\n",
    "tests/text/runes_test.cc": '#include <gtest/gtest.h>\n#include "trellis/internal/text/runes.h"\n',
}
# What is added to or replaced in the sound house, and a part of the line that must be printed.
FAULTS = {
    "text knows tokens": ({"src/text/a.cc": '#include "trellis/encoding.h"\n'}, "src/text/a.cc:1: room text may not include"),
    "text knows abseil": ({"src/text/a.cc": '\n#include "absl/strings/str_cat.h"\n'}, "src/text/a.cc:2: room text"),
    "text knows utf8proc": ({"src/text/a.cc": "#include <utf8proc.h>\n"}, "src/text/a.cc:1: room text may not include"),
    "RE2 outside patterns": ({"src/stage/split.cc": "#include <re2/re2.h>\n"}, "src/stage/split.cc:1: includes re2/re2.h"),
    "trie knows text": ({"src/trie/a.cc": '#include "trellis/internal/text/runes.h"\n'}, "room trie"),
    "stage knows a stage": ({"src/stage/other.cc": '#include "trellis/internal/stage/cut.h"\n'}, "a stage holds no other stage"),
    "stage knows a format": ({"src/stage/a.cc": '#include "src/format/json.h"\n'}, "room stage"),
    "format knows the pipeline": ({"src/format/a.cc": '#include "trellis/internal/stage/cut.h"\n'}, "room format"),
    "tokenizer knows a format": ({"src/tokenizer.cc": '#include "src/format/json.h"\n'}, "only load.cc"),
    "header leans on src": ({"include/trellis/internal/text/b.h": '#include "src/text/b.h"\n'}, "usable when installed"),
    "public header knows the inside": ({"include/trellis/encoding.h": '#include "trellis/internal/text/runes.h"\n'}, "room public"),
    "test of one room uses another": ({"tests/text/a_test.cc": '#include "trellis/internal/trie/walk.h"\n'}, "room tests/text"),
    "bench uses tests": ({"bench/a_bench.cc": '#include "tests/reference/a.h"\n'}, "room bench"),
    "include without a path": ({"src/text/a.cc": '#include "runes.h"\n'}, "write the path"),
    "unknown room": ({"attic/a.cc": "int a;\n"}, "attic/a.cc: lies in no room"),
    "banned file name": ({"src/text/text_utils.cc": "\n"}, "'utils' in a file name"),
    "banned class name": ({"src/text/a.cc": "\nclass RuneManager {\n};\n"}, "src/text/a.cc:2: 'manager' in the name RuneManager"),
    "long file": ({"src/text/a.cc": "\n" * 700}, "more than 600"),
    "machine path": ({"src/text/a.cc": "// see /" + "home/somebody/x\n"}, "a path of some machine"),
    "README names a lost file": ({"README.md": "see `src/text/lost.cc`\n"}, "README.md:1: names src/text/lost.cc"),
    "README links to a lost file": ({"README.md": "see [it](docs/lost.md)\n"}, "names docs/lost.md"),
    "README names a lost stem": ({"src/README.md": "\n`lost.h` is gone\n"}, "src/README.md:2: names lost.h"),
}


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    status, output = run(SOUND)
    if status != 0:
        failed += 1
        print(f"the sound house is refused:\n{output}")
    for name, (change, want) in FAULTS.items():
        status, output = run({**SOUND, **change})
        if status != 1 or want not in output:
            failed += 1
            print(f"{name}: status {status}, expected 1 and a line with {want!r}; got:\n{output}")
    print(f"{len(FAULTS) + 1} houses, {failed} judged wrongly")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
