"""The reference's stored answers: the goldens of tests/golden, and the files that TRELLIS_CASES names."""
import base64
import dataclasses
import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
CASES = pathlib.Path(os.environ["TRELLIS_CASES"]) if os.environ.get("TRELLIS_CASES") else None
MODEL = pathlib.Path(os.environ.get("TRELLIS_MODEL") or ROOT / "models" / "multilingual-e5-small")
STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


@dataclasses.dataclass
class Case:
    row: dict

    @property
    def name(self):
        return self.row["name"]

    @property
    def options(self):
        return self.row.get("options", {})

    @property
    def texts(self):
        text = base64.b64decode(self.row["text_base64"]) if "text_base64" in self.row else self.row["text"]
        return (text, self.row["pair"]) if "pair" in self.row else (text,)

    @property
    def asks_encoding(self):
        return "ids" in self.row or ("expect_error" in self.row and "ids_if_replaced" not in self.row)


def cases(path):
    with open(path, "rb") as f:
        rows = [json.loads(line) for line in f]
    return [Case(row) for row in rows if "name" in row]


def pipelines(path, key):
    """(name, tokenizer.json's own bytes, cases): scores are to be read as they are written."""
    out = []
    with open(path, "rb") as f:
        for line in f:
            row = json.loads(line)
            if "pipeline" in row:
                begin = line.index(f'"{key}":'.encode()) + len(key) + 3
                out.append((row["pipeline"], line.rstrip()[begin:-1], []))
            elif "name" in row:
                out[-1][2].append(Case(row))
    return out


def further_pipelines():
    if CASES is None:
        return []
    return [(folder.name, (folder / "tokenizer.json").read_bytes(), cases(folder / "cases.jsonl"))
            for folder in sorted((CASES / "pipelines").iterdir())]


def in_code_points(text, byte_offsets):
    data = text if isinstance(text, bytes) else text.encode()
    # Python, too, replaces each maximal ill-formed part by one U+FFFD.
    return [(len(data[:begin].decode(errors="replace")), len(data[:end].decode(errors="replace")))
            for begin, end in byte_offsets]
