"""Batches of token ids that every engine is timed on, of real text: the tree's goldens, whose ids are the tokenizer's own."""
import json
import math
import random

# Rows x tokens. "ragged": as many short rows as long ones on a logarithmic scale.
SHAPES = {"1x16": [16], "1x128": [128], "1x512": [512], "32x128": [128] * 32, "16x512": [512] * 16}
RAGGED_ROWS, RAGGED_SHORTEST, RAGGED_LONGEST = 64, 10, 474
BEGIN, END = 0, 2  # <s> and </s> of the XLM-R vocabulary


def _ids_of_texts(golden):
    ids = []
    with open(golden, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if case.get("name", "").startswith("udhr/"):
                ids.append(case["ids"])
    if not ids:
        raise SystemExit(f"{golden}: no case named udhr/*, expected those of tools/make_golden")
    return ids


def make(golden):
    """{shape: rows}: lines of the Declaration of Human Rights in 250 languages, in a fixed random order, cut to length."""
    chance = random.Random(1)
    texts = _ids_of_texts(golden)
    shapes = dict(SHAPES)
    middle = [(i + 0.5) / RAGGED_ROWS for i in range(RAGGED_ROWS)]
    chance.shuffle(middle)
    scale = math.log(RAGGED_LONGEST / RAGGED_SHORTEST)
    shapes["ragged"] = [round(RAGGED_SHORTEST * math.exp(scale * part)) for part in middle]
    batches = {}
    for name, lengths in shapes.items():
        batches[name] = []
        for length in lengths:
            row = [BEGIN]
            while len(row) < length - 1:
                row += chance.choice(texts)
            batches[name].append(row[:length - 1] + [END])
    return batches


def write(batches, path):
    """One row a line, its shape's name first: what cpu_engine_bench --batches reads."""
    with open(path, "w", encoding="ascii") as out:
        for name, rows in batches.items():
            for row in rows:
                out.write(f"{name} {' '.join(map(str, row))}\n")


def packings(name, rows):
    """How an engine that pads gets them: {packing: batches}. It is told the lengths, and may take what suits it best."""
    if name != "ragged":
        return {"as is": [rows]}
    by_length = sorted(rows, key=len, reverse=True)
    return {"sorted by 8": [by_length[i:i + 8] for i in range(0, len(rows), 8)], "batch 1": [[row] for row in by_length]}
