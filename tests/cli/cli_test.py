#!/usr/bin/env python3
"""`trellis` from outside: exit statuses, messages, streams, and the fields of its output.

  cli_test.py --trellis build/release/bin/trellis [unittest's arguments]

What tokens must come out is the reference's word, in expected.jsonl (see make_expected.py).
"""
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = os.path.join(HERE, "tiny.json")
SECONDS = 120
trellis = None


def run(*arguments, stdin=b"", **more):
    return subprocess.run([trellis, *arguments], input=stdin, capture_output=True, timeout=SECONDS, **more)


def expected():
    with open(os.path.join(HERE, "expected.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def reference_ids(text):
    """The reference's ids of one text with the template's specials."""
    return next(row["ids"] for row in expected() if row["model"] == "tiny" and row.get("request") == {"text": text})


def reference_free_ids(line):
    """Ours of one line without any cut: what windows are taken from."""
    return list(map(int, run("encode", TINY, stdin=line).stdout.split()))


def pipelines():
    """(name, tokenizer.json, cases) of tests/golden/make_pipelines_golden.py."""
    out = []
    with open(os.path.join(HERE, "..", "golden", "pipelines.jsonl"), encoding="utf-8") as f:
        for row in map(json.loads, f):
            if "pipeline" in row:
                out.append((row["pipeline"], row["tokenizer"], []))
            elif "name" in row:
                out[-1][2].append(row)
    return out


def id_line(text):
    return " ".join(map(str, reference_ids(text))).encode() + b"\n"


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def model(self, name):
        if name == "tiny":
            return TINY
        with open(TINY, encoding="utf-8") as f:
            spec = json.load(f)
        spec["post_processor"] = None
        return self.file(f"{name}.json", json.dumps(spec).encode())

    def ok(self, *arguments, stdin=b""):
        done = run(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def fails(self, status, *arguments, stdin=b"", out=b""):
        done = run(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, status, (arguments, done))
        self.assertEqual(done.stdout, out)
        message = done.stderr.decode()
        self.assertTrue(message.strip(), arguments)
        return message


class Encode(CliTest):
    def test_every_field_is_the_references(self):
        for name in ("tiny", "no_template"):
            model = self.model(name)
            rows = [row for row in expected() if row["model"] == name and "ids" in row]
            self.assertGreater(len(rows), 50)
            stdin = b"".join(json.dumps(row["request"]).encode() + b"\n" for row in rows)
            by_bytes = self.ok("encode", model, "--jsonl", "--json", stdin=stdin).splitlines()
            by_chars = self.ok("encode", model, "--jsonl", "--json", "--char-offsets", stdin=stdin).splitlines()
            self.assertEqual((len(by_bytes), len(by_chars)), (len(rows), len(rows)))
            for row, in_bytes, in_chars in zip(rows, map(json.loads, by_bytes), map(json.loads, by_chars)):
                with self.subTest(model=name, request=row["request"]):
                    want = {key: row[key] for key in ("ids", "tokens", "type_ids", "special_tokens_mask")}
                    self.assertEqual(in_chars, {**want, "offsets": row["char_offsets"]})
                    if "offsets" in row:
                        self.assertEqual(in_bytes, {**want, "offsets": row["offsets"]})

    def test_key_order_is_fixed(self):
        line = self.ok("encode", TINY, "--json", stdin=b"hello\n")
        self.assertEqual(list(json.loads(line)), ["ids", "tokens", "offsets", "type_ids", "special_tokens_mask"])

    def test_offsets_of_malformed_bytes_are_the_callers(self):
        line = json.loads(self.ok("encode", TINY, "--json", "--no-special-tokens", stdin=b"low\xff low\n"))
        # A stray byte is unknown, one byte long, and the blank after it is not in any token.
        self.assertEqual(line["offsets"], [[0, 3], [3, 4], [5, 8]])
        self.assertEqual(line["tokens"], ["\u2581low", "<unk>", "\u2581low"])

    def test_requests_that_the_reference_refuses(self):
        rows = [row for row in expected() if row["model"] == "tiny" and "error" in row]
        self.assertGreater(len(rows), 0)
        for row in rows:
            message = self.fails(1, "encode", TINY, "--jsonl", stdin=json.dumps(row["request"]).encode())
            self.assertIn("<stdin>:1: ", message)

    def test_lines_of_files_and_stdin(self):
        first = self.file("first", b"hello\n\nhello world")
        second = self.file("second", b"xyz\n")
        want = [id_line(text) for text in ("hello", "", "hello world", "hello\r", "xyz")]
        got = self.ok("encode", TINY, first, "-", second, stdin=b"hello\r\n")
        self.assertEqual(got.splitlines(keepends=True), want)
        self.assertEqual(self.ok("encode", TINY, stdin=b"hello\n"), want[0])
        self.assertEqual(self.ok("encode", TINY, stdin=b""), b"")
        self.assertEqual(self.ok("encode", TINY, "-", stdin=b"\n"), want[1])
        self.assertEqual(self.ok("encode", TINY, self.file("empty", b""), second), want[4])

    def test_options_are_what_lines_leave_out(self):
        line = b'{"text": "hello world", "add_special_tokens": true}\n"hello world"\n'
        got = self.ok("encode", TINY, "--jsonl", "--no-special-tokens", "--max-length", "3", stdin=line)
        ids = reference_ids("hello world")
        self.assertEqual(got.decode().splitlines(),
                         [" ".join(map(str, some)) for some in ([ids[0], ids[1], ids[-1]], ids[1:-1])])

    def test_threads_keep_the_order(self):
        lines = [b"hello " * (i % 7) + b"x" * (i % 5) + b" low" * (i % 11) for i in range(50000)]
        path = self.file("many", b"\n".join(lines))
        one = self.ok("encode", TINY, path)
        self.assertEqual(one.count(b"\n"), len(lines))
        self.assertEqual(self.ok("encode", TINY, "--threads", "4", path, path), one + one)
        self.assertEqual(self.ok("encode", TINY, "--threads", "0", path), one)

    def test_long_lines(self):
        # Longer than any buffer at the start, and between short ones.
        long = b"hello " * 500_000
        got = self.ok("encode", TINY, "--no-special-tokens", "--threads", "2", stdin=b"low\n" + long + b"\nlow\n")
        hello, low = (str(reference_ids(text)[1]).encode() for text in ("hello", "low wellow"))
        self.assertEqual(got.split(b"\n"), [low, b" ".join([hello] * 500_000), low, b""])

    def test_the_shield_lets_no_special_out(self):
        text = "a <s> </s> <mask> <unk> <pad>".encode()
        with_shield = self.ok("encode", TINY, "--no-match-special-tokens", "--no-special-tokens", stdin=text)
        without = self.ok("encode", TINY, "--no-special-tokens", stdin=text)
        with open(TINY, encoding="utf-8") as f:
            specials = {token["id"] for token in json.load(f)["added_tokens"]} - {3}  # 3 is the unknown, no spelling
        self.assertFalse(specials & set(map(int, with_shield.split())))
        self.assertEqual(specials & set(map(int, without.split())), specials)


    def test_sections_are_heeded_when_asked(self):
        checked = 0
        for name, model, rows in pipelines():
            if not name.startswith("section_"):
                continue
            rows = [row for row in rows if "ids" in row]
            requests = [{"text": row["text"], "add_special_tokens": row["options"]["add_special_tokens"],
                         **({"pair": row["pair"]} if "pair" in row else {})} for row in rows]
            done = run("encode", self.file("model.json", json.dumps(model).encode()), "--jsonl", "--json", "--file-truncation",
                       "--file-padding", "--overflow", stdin="".join(json.dumps(r) + "\n" for r in requests).encode())
            self.assertEqual((done.returncode, done.stderr), (0, b""), name)
            for row, line in zip(rows, done.stdout.splitlines(), strict=True):
                got = json.loads(line)
                windows = [got, *got.pop("overflowing")]
                self.assertEqual(list(map(self.compared, windows)),
                                 list(map(self.wanted, [row, *row.get("overflowing", [])])), row["name"])
                checked += 1
        self.assertGreater(checked, 500)

    @staticmethod
    def compared(row):
        return row["ids"], row["offsets"], row["special_tokens_mask"], row.get("attention_mask", [1] * len(row["ids"]))

    @staticmethod
    def wanted(row):
        size = len(row["ids"])
        return (row["ids"], row["byte_offsets"], row.get("special_tokens_mask", [0] * size),
                row.get("attention_mask", [1] * size))

    def test_sections_do_nothing_when_not_asked(self):
        name, model, rows = next(pipeline for pipeline in pipelines() if pipeline[0] == "section_both")
        path = self.file("model.json", json.dumps(model).encode())
        plain = self.file("plain.json", json.dumps({**model, "truncation": None, "padding": None}).encode())
        texts = "".join(json.dumps(row["text"]) + "\n" for row in rows).encode()
        asked = run("encode", path, "--jsonl", stdin=texts)
        self.assertEqual(asked.returncode, 0)
        self.assertEqual(asked.stdout, run("encode", plain, "--jsonl", stdin=texts).stdout)

    def test_windows_of_options(self):
        done = run("encode", TINY, "--json", "--overflow", "--max-length", "4", "--stride", "1", stdin=b"hello low hello low\n")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        got = json.loads(done.stdout)
        whole = reference_free_ids(b"hello low hello low\n")
        texts = [row["ids"][1:-1] for row in [got, *got["overflowing"]]]
        self.assertEqual([texts[0][0]] + [one for text in texts for one in text[1:]], whole[1:-1])
        done = run("encode", TINY, "--max-length", "4", "--stride", "2", stdin=b"hello low hello low\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stride 2: expected less", done.stderr)


    def test_code_points_of_pairs_whose_specials_are_text(self):
        text = "h\u00e9llo<s>l\u00f6w"
        stdin = json.dumps({"text": text, "pair": text}).encode() + b"\n"
        flags = ("encode", TINY, "--jsonl", "--json", "--encode-special-tokens")
        in_bytes, in_characters = json.loads(self.ok(*flags, stdin=stdin)), json.loads(self.ok(*flags, "--char-offsets", stdin=stdin))
        self.assertNotEqual(in_bytes["ids"], json.loads(self.ok("encode", TINY, "--jsonl", "--json", stdin=stdin))["ids"])
        place = {len(text[:i].encode()): i for i in range(len(text) + 1)}
        self.assertEqual(in_characters["offsets"], [[place[begin], place[end]] for begin, end in in_bytes["offsets"]])

    def test_a_pair_that_is_null_is_none(self):
        self.assertEqual(self.ok("encode", TINY, "--jsonl", stdin=b'{"text":"hello","pair":null}\n'), id_line("hello"))


class BadInput(CliTest):
    def test_json_lines(self):
        cases = [
            (b'{"text": "a", "foo": 1}', 'field "foo": unknown field'),
            (b'{"text": 1}', 'field "text": expected a string, found a number'),
            (b'{"pair": "a"}', 'field "text": expected'),
            (b'{"text": "a", "text_base64": "YQ=="}', 'field "text_base64": expected only one'),
            (b'{"text": "a", "text": "b"}', 'field "text": given twice'),
            (b'{"text_base64": "!"}', 'field "text_base64": expected base64'),
            (b'{"text": "a", "pair": ["b"]}', 'field "pair": expected a string, found an array'),
            (b'{"text": "a", "add_special_tokens": 1}', 'field "add_special_tokens": expected true or false'),
            (b'{"text": "a", "max_length": -1}', 'field "max_length": expected a whole number'),
            (b'{"text": "a", "max_length": "5"}', 'field "max_length": expected a whole number'),
            (b'{"text": "a", "truncation": "first", "max_length": 9}', 'field "truncation": expected longest_first'),
            (b'{"text": "a", "truncation": "only_first"}', 'field "truncation": expected a max_length'),
            (b'{"text": "a", "truncation_side": "up"}', 'field "truncation_side": expected left or right'),
            (b'{"text": "a", "max_length": 1}', "max_length 1: expected at least 2"),
            (b'{"text": "hello low", "max_length": 3, "truncation": "only_second"}', "truncation only_second: expected a pair"),
            (b'["a"]', "expected a JSON string or object, found an array"),
            (b'{"text": "a"', "expected a JSON string or object: "),
            (b'"a" "b"', "expected a JSON string or object: "),
            (b'"\xff"', "expected a JSON string or object: "),
            (b'"\\ud800"', "expected a JSON string or object: "),
            (b"", "expected a JSON string or object: "),
        ]
        good = id_line("hello")
        for threads in ("1", "3"):
            for line, message in cases:
                path = self.file("lines", b'"hello"\n' + line + b'\n"hello"\n')
                got = self.fails(1, "encode", TINY, "--jsonl", "--threads", threads, path, out=good)
                self.assertTrue(got.startswith(f"{path}:2: {message}"), (line, got))
                self.assertEqual(got.count("\n"), 1, got)

    def test_line_numbers_start_again_in_each_file(self):
        first = self.file("first", b'"hello"\n"hello"\n')
        second = self.file("second", b'"hello"\nnonsense\n')
        got = self.fails(1, "encode", TINY, "--jsonl", first, second, out=id_line("hello") * 3)
        self.assertTrue(got.startswith(f"{second}:2: "), got)

    def test_files_that_cannot_be_read(self):
        good = self.file("good", b"hello\n")
        missing = os.path.join(self.folder, "missing")
        for threads in ("1", "2"):
            for bad in (missing, self.folder):
                got = self.fails(1, "encode", TINY, "--threads", threads, good, bad, out=id_line("hello"))
                self.assertTrue(got.startswith(f"{bad}: cannot "), got)

    def test_models_that_cannot_be_loaded(self):
        broken = self.file("broken.json", b'{"model": ')
        for model in (broken, os.path.join(self.folder, "missing")):
            for command in ("encode", "decode", "count", "info"):
                self.assertIn(model, self.fails(1, command, model))
            self.assertIn(model, self.fails(1, "explain", model, "hello"))

    def test_an_error_ends_the_command_though_stdin_stays_open(self):
        for threads in ("1", "2"):
            with subprocess.Popen([trellis, "encode", TINY, "--jsonl", "--threads", threads], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                child.stdin.write(b"nonsense\n")
                child.stdin.flush()
                self.assertEqual(child.wait(timeout=SECONDS), 1)


class WrongUsage(CliTest):
    def test_status_2(self):
        for arguments in ([], ["compose", TINY], ["compile", TINY], ["encode"],
                          ["encode", TINY, "--nonsense"], ["encode", TINY, "--threads", "-1"],
                          ["encode", TINY, "--max-length", "-1"], ["encode", TINY, "--max-length", "x"],
                          ["encode", TINY, "--truncation", "only_first"], ["encode", TINY, "--char-offsets"],
                          ["encode", TINY, "--max-length", "5", "--truncation", "first"],
                          ["encode", TINY, "--trie", "tree"], ["explain", TINY], ["explain", TINY, "a", "b"],
                          ["count", TINY, "--truncation", "only_first"], ["info"], ["info", TINY, TINY]):
            self.fails(2, *arguments)

    def test_version_is_the_projects(self):
        with open(os.path.join(HERE, "..", "..", "CMakeLists.txt"), encoding="utf-8") as f:
            version = re.search(r"project\(trellis VERSION (\S+)", f.read())[1]
        self.assertEqual(self.ok("--version"), f"trellis {version}\n".encode())

    def test_help_is_no_error(self):
        for arguments in ([], ["encode"], ["decode"], ["count"], ["explain"], ["info"]):
            self.assertIn(b"Usage: ", self.ok(*arguments, "--help"))


class Streams(CliTest):
    def closed(self, redirection, *arguments):
        """The command with a standard stream closed, as `>&-` in a shell."""
        line = 'exec "$0" "$@" ' + redirection
        return subprocess.run(["sh", "-c", line, trellis, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS)

    def test_closed_output_is_an_error(self):
        texts = self.file("texts", b"a\n")
        for options in ([], ["--threads", "2"]):
            done = self.closed(">&-", "encode", TINY, *options, texts)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(b"Bad file descriptor", done.stderr)

    def test_closed_input_is_an_error(self):
        for command in ("encode", "decode", "count"):
            done = self.closed("<&-", command, TINY, "-")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(b"Bad file descriptor", done.stderr)

    def test_a_line_is_answered_before_the_next(self):
        for threads in ("1", "2"):
            with subprocess.Popen([trellis, "encode", TINY, "--threads", threads], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as child:
                for text in ("hello", "hello world", "xyz"):
                    child.stdin.write(text.encode() + b"\n")
                    child.stdin.flush()
                    self.assertTrue(select.select([child.stdout], [], [], SECONDS)[0], "no answer")
                    self.assertEqual(child.stdout.readline(), id_line(text))
                child.stdin.close()
                self.assertEqual(child.wait(timeout=SECONDS), 0)

    def test_memory_stays_bounded(self):
        def peak_kilobytes(lines, threads):
            path = self.file("many", b"hello world low\n" * lines)
            child = subprocess.Popen([trellis, "encode", TINY, "--json", "--threads", threads, path],
                                     stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            return usage.ru_maxrss

        for threads in ("1", "2"):
            small, big = peak_kilobytes(200_000, threads), peak_kilobytes(1_600_000, threads)
            # 22 MB more input, about 180 MB more output.
            self.assertLess(big - small, 10_000)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        path = self.file("many", b"hello world low\n" * 200_000)
        for ignored in (False, True):
            start = (lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if ignored else None
            with subprocess.Popen([trellis, "encode", TINY, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=start) as child:
                self.assertEqual(child.stdout.readline(), id_line_of_three())
                child.stdout.close()
                self.assertEqual(child.stderr.read(), b"")
                self.assertEqual(child.wait(timeout=SECONDS), -signal.SIGPIPE)

    def test_a_full_disk_is_reported(self):
        path = self.file("lines", b"hello\n" * 100_000)
        ids = self.file("ids", b"5 6\n" * 100_000)
        for arguments in (["encode", TINY, path], ["encode", TINY, "--threads", "2", path], ["decode", TINY, ids],
                          ["count", TINY, path], ["explain", TINY, "hello"], ["info", TINY], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([trellis, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(b"standard output: cannot write: ", done.stderr)


def id_line_of_three():
    ids = reference_ids("hello world")
    low = reference_ids("low wellow")[1]
    return " ".join(map(str, [*ids[:-1], low, ids[-1]])).encode() + b"\n"


class Decode(CliTest):
    def test_texts_are_the_references(self):
        for name in ("tiny", "no_template"):
            rows = [row for row in expected() if row["model"] == name and "decode_ids" in row]
            self.assertGreater(len(rows), 3)
            blanks = "".join(" ".join(map(str, row["decode_ids"])) + "\n" for row in rows).encode()
            arrays = "".join(json.dumps(row["decode_ids"]) + "\n" for row in rows).encode()
            for field, options in (("decoded", ["--keep-special-tokens"]), ("decoded_skip_special", [])):
                want = [row[field] for row in rows]
                for stdin in (blanks, arrays):
                    json_lines = self.ok("decode", self.model(name), "--json", *options, stdin=stdin).splitlines()
                    self.assertEqual(list(map(json.loads, json_lines)), want)
                    text = self.ok("decode", self.model(name), *options, stdin=stdin)
                    self.assertEqual(text.decode(), "".join(line + "\n" for line in want))

    def test_blanks_between_ids(self):
        self.assertEqual(self.ok("decode", TINY, stdin=b" 5\t6  \r\n"), self.ok("decode", TINY, stdin=b"5 6"))

    def test_what_is_no_id(self):
        for line, found in ((b"5 x", '"x"'), (b"-1", '"-1"'), (b"5,6", '"5,6"'), (b"2147483648", '"2147483648"'),
                            (b"[5, -1]", '"-1"'), (b"[1.5]", '"1.5"'), (b'["5"]', r'"\"5\""')):
            got = self.fails(1, "decode", TINY, stdin=b"5\n" + line, out=self.ok("decode", TINY, stdin=b"5"))
            self.assertEqual(got, f"<stdin>:2: expected a token id, 0 to 2147483647, found {found}\n")
        self.assertTrue(self.fails(1, "decode", TINY, stdin=b"[5").startswith("<stdin>:1: expected a JSON array"))


class Count(CliTest):
    def test_sums(self):
        rows = [row for row in expected() if row["model"] == "tiny" and set(row.get("request", ())) == {"text"}]
        texts = [row["request"]["text"] for row in rows]
        want = {"texts": len(rows), "bytes": sum(len(text.encode()) for text in texts),
                "tokens": sum(len(row["ids"]) for row in rows),
                "unknown_tokens": sum(row["ids"].count(3) for row in rows)}
        self.assertGreater(want["unknown_tokens"], 0)
        plain = "\n".join(texts).encode() + b"\n"
        as_json = "".join(json.dumps(text) + "\n" for text in texts).encode()
        for options, stdin in (([], plain), (["--threads", "3"], plain), (["--jsonl"], as_json)):
            got = json.loads(self.ok("count", TINY, "--json", *options, stdin=stdin))
            self.assertGreater(got.pop("tokens_per_second"), 0)
            self.assertEqual(got, want)
        names = [line.rsplit(maxsplit=1)[0] for line in self.ok("count", TINY, stdin=plain).decode().splitlines()]
        self.assertEqual(names, ["texts", "bytes", "tokens", "unknown tokens", "tokens/s"])


class ExplainAndInfo(CliTest):
    def sections(self, text):
        out, name = {}, None
        for line in text.decode().splitlines():
            if line and not line.startswith(" "):
                name = line
                out[name] = []
            elif line.strip():
                out[name].append(line.split())
        return out

    def test_explain_shows_every_stage(self):
        got = self.sections(self.ok("explain", TINY, "hello  <mask> world"))
        self.assertEqual(list(got), ["segments", "normalized", "pre-tokens", "pieces", "tokens"])
        row = next(row for row in expected() if row.get("request") == {"text": "hello  <mask> world"})
        tokens = got["tokens"][1:]
        self.assertEqual([int(line[1]) for line in tokens], row["ids"])
        self.assertEqual([list(map(int, line[2].split("-"))) for line in tokens], row["offsets"])
        self.assertEqual(len(got["segments"][1:]), 3)
        self.assertEqual([line[3] for line in got["pre-tokens"][1:]], ['"\u2581hello"', '"\u2581world"'])
        with open(TINY, encoding="utf-8") as f:
            scores = dict(json.load(f)["model"]["vocab"])
        for line in got["pieces"][1:]:
            self.assertAlmostEqual(float(line[3]), scores[line[5].strip('"')], places=5)

    def test_explain_takes_any_text(self):
        for text in ("", "encode", "--", "[a,b]", "\xff".encode("latin-1"), 'a"b\\c\x01'):
            arguments = ["explain", TINY, "--", text] if text == "--" else ["explain", TINY, text]
            self.assertIn(b"tokens\n", self.ok(*arguments))

    def test_info(self):
        got = json.loads(self.ok("info", TINY, "--json"))
        self.assertEqual(got["dialect"], "Hugging Face")
        self.assertTrue(got["pieces"].startswith("42 "), got["pieces"])
        self.assertEqual(got["template"], "<s>:0 $A:0 </s>:0")
        self.assertEqual(got["template of a pair"], "<s>:0 $A:0 </s>:0 </s>:0 $B:1 </s>:1")
        self.assertEqual(len(got["special tokens"]), 5)
        self.assertEqual(got["normalizers"], [])
        text = self.ok("info", TINY).decode()
        for name in got:
            self.assertIn(name, text)

    def test_ways_to_build_the_tables_change_nothing(self):
        text = "hello 日本 wörld😀 xyz <mask>".encode()
        want = self.ok("encode", TINY, "--json", stdin=text)
        for options in (["--plain"], ["--trie", "bitmap"], ["--trie", "double-array"], ["--huge-pages"]):
            self.assertEqual(self.ok("encode", TINY, "--json", *options, stdin=text), want)


class Compile(CliTest):
    def compiled(self, model=TINY):
        path = os.path.join(self.folder, "model.trellis")
        self.assertEqual(self.ok("compile", model, "-o", path), b"")
        return path

    def test_every_command_takes_one(self):
        path = self.compiled()
        rows = [row for row in expected() if row["model"] == "tiny" and "ids" in row]
        self.assertGreater(len(rows), 50)
        stdin = b"".join(json.dumps(row["request"]).encode() + b"\n" for row in rows)
        for options in ([], ["--plain"], ["--huge-pages"]):
            lines = self.ok("encode", path, "--jsonl", *options, stdin=stdin).splitlines()
            self.assertEqual([list(map(int, line.split())) for line in lines], [row["ids"] for row in rows])
        for arguments, stdin in ((("explain", "hello  <mask> world"), b""), (("decode",), b"5 6 7"), (("count",), b"hello world")):
            command, *rest = arguments
            of_source, of_compiled = (self.ok(command, model, *rest, stdin=stdin) for model in (TINY, path))
            if command == "count":  # the last row is a speed
                of_source, of_compiled = (out.splitlines()[:-1] for out in (of_source, of_compiled))
            self.assertEqual(of_compiled, of_source, command)
        folder = os.path.join(self.folder, "only")
        os.mkdir(folder)
        os.rename(path, os.path.join(folder, "model.trellis"))
        self.assertEqual(self.ok("encode", folder, stdin=b"hello"), id_line("hello"))

    def test_info_says_so(self):
        path = self.compiled()
        got, source = (json.loads(self.ok("info", model, "--json")) for model in (path, TINY))
        self.assertEqual(got.pop("compiled file"), f"{os.path.getsize(path)} bytes, mapped")
        self.assertIn("a copy of its own", json.loads(self.ok("info", path, "--json", "--huge-pages"))["compiled file"])
        for facts in (got, source):
            del facts["load time, file included"]
        self.assertEqual(got, source)

    def test_compiled_again_it_is_the_same(self):
        path = self.compiled()
        with open(path, "rb") as f:
            want = f.read()
        again = os.path.join(self.folder, "again.trellis")
        self.ok("compile", path, "-o", again)
        with open(again, "rb") as f:
            self.assertEqual(f.read(), want)
        self.ok("compile", path, "-o", path)
        self.assertEqual(self.ok("encode", path, stdin=b"hello"), id_line("hello"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["again.trellis", "model.trellis"])

    def test_what_is_damaged_is_refused(self):
        with open(self.compiled(), "rb") as f:
            whole = f.read()
        for data, reason in ((whole[:-1], "byte 16: a file of "), (whole[:700] + b"?" + whole[701:], "the file is damaged"),
                             (whole[:20], "byte 20: the end, expected a header of 40 bytes"),
                             (whole[:12] + b"\x09" + whole[13:], "byte 12: version 9, expected 1: another version of trellis wrote this file")):
            path = self.file("damaged.trellis", data)
            message = self.fails(1, "encode", path)
            self.assertTrue(message.startswith(path + ": "), message)
            self.assertIn(reason, message)

    def test_faults(self):
        self.assertIn("cannot be opened", self.fails(1, "compile", TINY, "-o", os.path.join(self.folder, "none", "model")))
        self.assertIn("cannot be opened", self.fails(1, "compile", os.path.join(self.folder, "none"), "-o", os.path.join(self.folder, "x")))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    if sys.argv[1:2] != ["--trellis"]:
        sys.exit(__doc__)
    trellis = os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
