"""Every stored answer of the reference through trellis.tokenizers, the wheel's subset: as a user would ask for it."""
import functools
import json

import pytest

from reference_cases import CASES, GOLDEN, STRATEGIES, cases, further_pipelines, in_code_points, pipelines
from trellis.tokenizers import AddedToken, DecodeStream, Tokenizer

COLUMNS = ("ids", "tokens", "type_ids", "special_tokens_mask", "attention_mask", "word_ids", "sequence_ids")
USUAL = {"type_ids": 0, "special_tokens_mask": 0, "attention_mask": 1}


class Differences(list):
    """What differs, to be shown all at once."""

    def compare(self, name, what, got, want):
        if got != want:
            self.append(f"{name} {what}:\n  got  {str(got)[:300]}\n  want {str(want)[:300]}")

    def check(self, count, at_least):
        assert not self, f"{len(self)} of {count} differ; the first:\n" + "\n".join(self[:10])
        assert count >= at_least


def compare_row(differences, case, what, row, encoding):
    for column in COLUMNS:
        if column in row:
            differences.compare(case.name, what + column, getattr(encoding, column), row[column])
        elif column in USUAL:
            differences.compare(case.name, what + column, getattr(encoding, column), [USUAL[column]] * len(encoding))
    if row.get("char_offsets"):
        differences.compare(case.name, what + "offsets", encoding.offsets, [tuple(pair) for pair in row["char_offsets"]])
    elif len(case.texts) == 1:
        differences.compare(case.name, what + "offsets", encoding.offsets, in_code_points(case.texts[0], row["byte_offsets"]))


@functools.cache
def with_added_tokens(tokenizer, tokens):
    more = Tokenizer(tokenizer._native)
    more.add_tokens([AddedToken(**fields) for fields in json.loads(tokens)])
    return more


def ask(tokenizer, case):
    """The tokenizer as the case wants it set."""
    options = case.options
    if options.get("added_tokens"):
        tokenizer = with_added_tokens(tokenizer, json.dumps(options["added_tokens"]))
    if cut := options.get("truncation"):
        tokenizer.enable_truncation(cut["max_length"], cut["stride"], STRATEGIES[cut["strategy"]], cut["direction"].lower())
    if pad := options.get("padding"):
        strategy = pad["strategy"]
        tokenizer.enable_padding(pad["direction"].lower(), pad["pad_id"], pad["pad_type_id"], pad["pad_token"],
                                 strategy["Fixed"] if isinstance(strategy, dict) else None, pad["pad_to_multiple_of"])
    tokenizer.encode_special_tokens = options.get("encode_special_tokens", False)
    return tokenizer


def check_encoding(differences, tokenizer, case):
    special = case.options.get("add_special_tokens", False)
    try:
        encoding = tokenizer.encode(*case.texts, add_special_tokens=special)
    except ValueError as error:
        if "expect_error" not in case.row:
            differences.append(f"{case.name}: {error}")
        return
    if "expect_error" in case.row:
        # A max_length without room for the specials, or text that is cut to nothing: the wheel panics in places.
        differences.append(f"{case.name}: no error, want {case.row['expect_error']}")
        return
    compare_row(differences, case, "", case.row, encoding)
    if "overflowing" not in case.row and "truncation" in case.options:
        return
    overflow = case.row.get("overflowing", [])
    differences.compare(case.name, "overflowing", len(encoding.overflowing), len(overflow))
    for i, (got, want) in enumerate(zip(encoding.overflowing, overflow)):
        want = dict(want)
        # The template's in every window; the reference numbers the texts there, and forgets which they are.
        if len(case.texts) == 2:
            want["type_ids"] = got.type_ids
        compare_row(differences, case, f"overflowing[{i}] ", want, got)


def check_decoding(differences, tokenizer, case):
    ids = case.row.get("decode_ids", case.row.get("ids"))
    for field, skip in (("decoded", False), ("decoded_skip_special", True)):
        if field in case.row:
            differences.compare(case.name, field, tokenizer.decode(ids, skip_special_tokens=skip), case.row[field])
    if "stream_steps" not in case.row:
        return
    stream = DecodeStream(skip_special_tokens=False)
    for i, (one, want) in enumerate(zip(ids, case.row["stream_steps"])):
        try:
            got = stream.step(tokenizer, one)
        except ValueError:
            got = "an error"
        differences.compare(case.name, f"step {i}", got, "an error" if isinstance(want, dict) else want)


def run(tokenizer, rows, differences):
    for case in rows:
        try:
            asked = tokenizer if not case.options else ask(tokenizer, case)
        except ValueError as error:  # as there, truncation is refused when it is set
            if "stride" not in case.row.get("expect_error", ""):
                differences.append(f"{case.name}: {error}")
            continue
        if case.asks_encoding:
            check_encoding(differences, asked, case)
        if "decoded" in case.row:
            check_decoding(differences, asked, case)
        if "truncation" in case.options:
            asked.no_truncation()
        if "padding" in case.options:
            asked.no_padding()
    return len(rows)


def test_own_cases(model_file):
    differences = Differences()
    count = run(Tokenizer.from_file(model_file), cases(GOLDEN / "xlmr.jsonl"), differences)
    differences.check(count, 2000)


@pytest.mark.parametrize("name,key,at_least", [("pipelines", "tokenizer", 2000), ("stage_pipelines", "file", 4000)])
def test_own_pipelines(name, key, at_least):
    differences, count = Differences(), 0
    for pipeline, file, rows in pipelines(GOLDEN / f"{name}.jsonl", key):
        count += run(Tokenizer.from_buffer(file), rows, differences)
    differences.check(count, at_least)


@pytest.mark.skipif(CASES is None, reason="TRELLIS_CASES is not set")
@pytest.mark.parametrize("name", ["cases_xlmr", "golden_xlmr"])
def test_further_cases(model_file, name):
    differences = Differences()
    count = run(Tokenizer.from_file(model_file), cases(CASES / f"{name}.jsonl"), differences)
    differences.check(count, 200)


@pytest.mark.skipif(CASES is None, reason="TRELLIS_CASES is not set")
def test_further_pipelines():
    differences, count = Differences(), 0
    for pipeline, file, rows in further_pipelines():
        count += run(Tokenizer.from_buffer(file), rows, differences)
    differences.check(count, 4000)
