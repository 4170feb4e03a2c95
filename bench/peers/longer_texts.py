#!/usr/bin/env python3
"""Natural text in Hindi and Arabic that is longer than the Universal Declaration, from two Debian packages.

  bench/peers/longer_texts.py DIR

writes DIR/guide-hi.txt (LibreOffice's help, package libreoffice-help-hi) and DIR/guide-ar.txt (The Debian
Administrator's Handbook, package debian-handbook): paragraphs whose letters are mostly of the language's script, each
once. Needs apt-get and dpkg; the packages are unpacked, not installed. No such package was found for Thai.
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

TEXTS = {
    "hi": ("libreoffice-help-hi", "**/help/hi/**/*.html", "\u0900", "\u097f"),
    "ar": ("debian-handbook", "**/html/ar-MA/*.html", "\u0600", "\u06ff"),
}
PARAGRAPH = re.compile(r"<(p|li|h\d|td)[ >].*?</\1>", re.S)


def paragraphs(page, first, last):
    page = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    for match in PARAGRAPH.finditer(page):
        text = html.unescape(re.sub(r"<[^>]+>", "", match.group()[match.group().index(">") + 1:]))
        text = " ".join(text.split())
        letters = sum(first <= c <= last for c in text)
        if letters > 10 and letters * 2 > len(text.replace(" ", "")):
            yield text


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for language, (package, pages, first, last) in TEXTS.items():
        path = target / f"guide-{language}.txt"
        if path.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, stdout=sys.stderr)
            (archive,) = pathlib.Path(folder).glob("*.deb")
            subprocess.run(["dpkg", "-x", archive, "files"], cwd=folder, check=True)
            found = {}
            for page in sorted(pathlib.Path(folder, "files").glob(pages)):
                found.update(dict.fromkeys(paragraphs(page.read_text(errors="ignore"), first, last)))
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(found)} paragraphs of {archive.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
