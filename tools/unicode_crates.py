"""The pinned crates that say what Unicode means here, fetched with cargo into a scratch project.

tokenizers 0.22.2 was built with exactly these (their paths stand in the wheel's library), so clusters and
word characters follow their tables and not a newer Unicode. cargo checks the archives against the checksums.
"""

import json
import pathlib
import subprocess
import sys

UNICODE_VERSION = "16.0.0"
# name: (version, SHA-256 of the .crate archive)
CRATES = {
    "regex-syntax": ("0.8.8", "7a2d987857b319362043e95f5353c0535c1f58eec5336fdfcf626430af7def58"),
    "unicode-segmentation": ("1.12.0", "f6ccf251212114b54433ec949fd6a7841275f9ada20dddd2f29e9ceea4501493"),
}


def names():
    """E.g. `regex-syntax 0.8.8 and unicode-segmentation 1.12.0`."""
    return " and ".join(f"{name} {version}" for name, (version, _) in CRATES.items())


def write_project(folder, main_rs="fn main() {}\n"):
    """Writes a cargo project with the pinned crates and `main_rs` as its program."""
    folder = pathlib.Path(folder)
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.rs").write_text(main_rs, encoding="utf-8")
    manifest = '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
    manifest += "".join(f'{name} = "={version}"\n' for name, (version, _) in CRATES.items())
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    lock = 'version = 3\n\n[[package]]\nname = "scratch"\nversion = "0.0.0"\ndependencies = [\n'
    lock += "".join(f' "{name}",\n' for name in CRATES) + "]\n"
    for name, (version, checksum) in CRATES.items():
        lock += (f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n'
                 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'
                 f'checksum = "{checksum}"\n')
    (folder / "Cargo.lock").write_text(lock, encoding="utf-8")
    return folder


def cargo(folder, *arguments):
    """Runs cargo in `folder` and returns what it printed; ends the program with its message when it fails."""
    try:
        done = subprocess.run(["cargo", *arguments], cwd=folder, stdout=subprocess.PIPE, check=True)
    except FileNotFoundError:
        sys.exit("cargo not found: the Unicode tables are made from Rust crates, install Rust first")
    except subprocess.CalledProcessError as error:
        sys.exit(f"`cargo {' '.join(arguments)}` ended with status {error.returncode}, see its message above")
    return done.stdout.decode("utf-8")


def sources(folder):
    """Crate name -> folder of its sources."""
    metadata = json.loads(cargo(folder, "metadata", "--locked", "--format-version", "1"))
    return {p["name"]: pathlib.Path(p["manifest_path"]).parent for p in metadata["packages"] if p["name"] in CRATES}
