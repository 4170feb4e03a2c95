"""The command line that each engine has: python -m trellis.bulk, trellis.ray or trellis.spark."""
from __future__ import annotations

import argparse
import inspect
import os
import sys
import typing

from trellis.bulk.gateway import GatewayError
from trellis.bulk.job import JobError

KEY_VARIABLE = "TRELLIS_API_KEY"  # where other users of the machine do not see it


def run(program: str, about: str, calls: dict[str, typing.Callable],
        engine_options: typing.Callable[[argparse.ArgumentParser], None], arguments: list[str] | None = None) -> int:
    """calls: tokenize and embed of an engine; engine_options adds what is the engine's own."""
    parser = argparse.ArgumentParser(prog=program, description=about, allow_abbrev=False)
    tasks = parser.add_subparsers(dest="task", required=True, metavar="tokenize|embed")
    for task, call in calls.items():
        one = tasks.add_parser(task, help=inspect.getdoc(call).splitlines()[0], allow_abbrev=False,
                               argument_default=argparse.SUPPRESS)
        one.add_argument("input", nargs="+", help="Parquet or JSON lines: files, folders, patterns in quotes")
        one.add_argument("output", help="a folder; the same one again goes on where a run was ended")
        _common(one)
        (_tokenize if task == "tokenize" else _embed)(one)
        engine_options(one)
    options = vars(parser.parse_args(arguments))
    call = calls[options.pop("task")]
    if "headers" in options:
        options["headers"] = dict(options["headers"])
    if "gateway" in options and os.environ.get(KEY_VARIABLE):
        options.setdefault("api_key", os.environ[KEY_VARIABLE])
    try:
        print(call(options.pop("input"), options.pop("output"), **options))
    except (ImportError, OSError, ValueError, GatewayError, JobError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{program}: interrupted; the same again goes on where it was", file=sys.stderr)
        return 130
    return 0


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--column", metavar="NAME", help="the column of texts (text)")
    parser.add_argument("--keep", metavar="NAME", action="append",
                        help="a column that the output has too, NAME:TYPE of JSON lines (string, int64, double, bool); repeat it")
    parser.add_argument("--format", choices=("parquet", "jsonl"), help="of files whose names do not say")
    parser.add_argument("--part-bytes", metavar="N", type=int, help="of input for a part of the output, about")
    parser.add_argument("--malformed", choices=("error", "replace"),
                        help="what is no UTF-8: null and an error, or U+FFFD (error)")
    parser.add_argument("--threads", metavar="N", type=int, help="of a worker; 0: as many as it may run on")


def _tokenize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="PATH", required=True, help="a tokenizer's file, or a folder that holds one")
    parser.add_argument("--pair", metavar="NAME", help="the column of second texts")
    parser.add_argument("--result", choices=("ids", "count"), help="(ids)")
    parser.add_argument("--max-length", metavar="N", type=int, help="the most tokens of a row")
    parser.add_argument("--no-special-tokens", dest="add_special_tokens", action="store_false", help="around texts")
    parser.add_argument("--no-match-special-tokens", dest="match_special_tokens", action="store_false",
                        help="texts are not trusted: none becomes a special token")


def _embed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="FOLDER", help="computed in each worker; or:")
    parser.add_argument("--gateway", metavar="URL", help="a running trellis-gateway")
    parser.add_argument("--prompt", metavar="TEXT", help="in front of each text")
    parser.add_argument("--prompt-name", metavar="NAME", help="the model's prompt of that name")
    parser.add_argument("--normalize", action="store_true", help="to length 1, also where the model does not do it")
    parser.add_argument("--dimensions", metavar="N", type=int, help="the first N numbers of each vector")
    parser.add_argument("--dtype", metavar="TYPE", help="to compute with: auto, f32, bf16, int8")
    parser.add_argument("--concurrency", metavar="N", type=int, help="requests of a worker at a time (8)")
    parser.add_argument("--request-texts", metavar="N", type=int, help="texts in a request (as the gateway says)")
    parser.add_argument("--request-tokens", metavar="N", type=int, help="tokens in a request, about (as the gateway says)")
    parser.add_argument("--api-key", metavar="KEY", help=f"of the gateway; better as {KEY_VARIABLE}")
    parser.add_argument("--header", dest="headers", metavar="NAME=VALUE", action="append", type=_header, help="in each request")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="of one try (120)")
    parser.add_argument("--patience", metavar="SECONDS", type=float, help="for which a request is tried again (300)")


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r}, expected NAME=VALUE")
    return name, value
