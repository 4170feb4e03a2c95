#!/usr/bin/env python3
"""The client of OpenAI's own Python package against trellis-gateway: openai_test.py --gateway PATH --model DIR"""
import base64
import struct
import threading
import time

import openai

from running_gateway import (TINY_MODELS, assert_near, cosine, demo_references, gateway, parse_arguments, reference, run)

ARGUMENTS = parse_arguments()
# As a slow engine: each batch takes its time, whatever is in it.
SLOW = ("--engine", "synthetic:vocab=272,max_row_tokens=64,batch_us=400000")
TINY = TINY_MODELS / "tiny-bert"


def client(url, **options):
    options.setdefault("api_key", "unused")
    return openai.OpenAI(base_url=url + "/v1", **options)


def raises(error, call):
    try:
        call()
    except error as raised:
        assert type(raised) is error, type(raised)
        return raised
    raise AssertionError(f"no {error.__name__}")


def vectors_are_the_references():
    texts = [t for t in reference("tiny-bert")["texts"] if t["text"] and "prompt_name" not in t]
    with gateway(ARGUMENTS.gateway, TINY, "--dtype", "f32") as url:
        # Without encoding_format the client asks for base64 by itself, and decodes it.
        answer = client(url).embeddings.create(model="tiny-bert", input=[t["text"] for t in texts])
        assert [d.index for d in answer.data] == list(range(len(texts)))
        for item, text in zip(answer.data, texts):
            assert_near(item.embedding, text["embedding"])
        assert answer.usage.prompt_tokens == sum(len(t["ids"]) for t in texts)
        assert answer.model == "tiny-bert"


def every_form_has_the_same_bits():
    with gateway(ARGUMENTS.gateway, ARGUMENTS.model) as url:
        create = client(url).embeddings.create
        model = client(url).models.list().data[0].id
        default = create(model=model, input="query: Hello world").data[0].embedding
        floats = create(model=model, input="query: Hello world", encoding_format="float").data[0].embedding
        raw = create(model=model, input="query: Hello world", encoding_format="base64").data[0].embedding
        data = base64.b64decode(raw)
        assert len(data) == 4 * len(floats) == 4 * 384
        assert struct.pack("<384f", *floats) == struct.pack("<384f", *default) == data
        # LangChain sends ids; those of the text are the text.
        for ids in ([41, 1294, 12, 35378, 8999], [[41, 1294, 12, 35378, 8999]], [0, 41, 1294, 12, 35378, 8999, 2]):
            assert create(model=model, input=ids).data[0].embedding == default
        assert create(model=model, input=ids).usage.prompt_tokens == 7
        short = create(model=model, input="query: Hello world", dimensions=64).data[0].embedding
        assert len(short) == 64 and abs(cosine(short, floats[:64]) - 1) < 1e-6
        assert abs(sum(x * x for x in short) - 1) < 1e-5
        assert create(model=model, input="a", user="someone").data


def the_demo_model_is_the_references():
    rows = [row for row in demo_references() if row["text"]]
    if not rows:
        print("SKIPPED: TRELLIS_CASES is not set: the demo model's vectors are NOT compared")
        return
    rows = sorted(rows, key=lambda row: row["n_tokens"])[:24]
    with gateway(ARGUMENTS.gateway, ARGUMENTS.model, "--dtype", "f32") as url:
        answer = client(url).embeddings.create(model="multilingual-e5-small", input=[row["text"] for row in rows])
        for item, row in zip(answer.data, rows):
            expected = struct.unpack("<384f", base64.b64decode(row["mean_b64"]))
            assert cosine(item.embedding, expected) > 0.99999, row["text"]


def errors_have_their_classes():
    flags = ("--api-key", "secret", "--payload-limit", "5000", "--max-client-batch-size", "3")
    with gateway(ARGUMENTS.gateway, TINY, *flags) as url:
        once = client(url, api_key="secret", max_retries=0).embeddings
        wrong = client(url, api_key="wrong", max_retries=0).embeddings
        error = raises(openai.AuthenticationError, lambda: wrong.create(model="tiny-bert", input="a"))
        assert error.code == "invalid_api_key" and error.request_id.startswith("req-"), error
        error = raises(openai.NotFoundError, lambda: once.create(model="text-embedding-3-small", input="a"))
        assert error.code == "model_not_found" and error.param == "model" and error.type == "not_found_error", error
        for given, code in (("", "empty_input"), ([], "empty_input"), (["a", ""], "empty_input"), ([5, -1], "invalid_value"),
                            (["a"] * 4, "too_many_inputs")):
            error = raises(openai.BadRequestError, lambda: once.create(model="tiny-bert", input=given))
            assert error.code == code and error.type == "invalid_request_error", error
        error = raises(openai.BadRequestError, lambda: once.create(model="tiny-bert", input="a", encoding_format="md5"))
        assert error.code == "invalid_value" and error.param == "encoding_format", error
        error = raises(openai.BadRequestError, lambda: once.create(
            model="tiny-bert", input="water " * 100, extra_body={"truncate": False}))
        assert error.code == "context_length_exceeded", error
        # The package has no class of its own for 413.
        error = raises(openai.APIStatusError, lambda: once.create(model="tiny-bert", input="water " * 1000))
        assert error.status_code == 413 and error.code == "payload_too_large", error
        assert once.create(model="tiny-bert", input="a").data
    with gateway(ARGUMENTS.gateway, TINY, "--engine", "synthetic:vocab=272,max_row_tokens=64,nonfinite_id=7") as url:
        once = client(url, max_retries=0).embeddings
        error = raises(openai.InternalServerError, lambda: once.create(model="tiny-bert", input=[7]))
        assert error.status_code == 500 and error.code == "non_finite_output", error


def who_is_told_to_come_again_comes_again():
    with gateway(ARGUMENTS.gateway, TINY, *SLOW, "--max-concurrent-requests", "1") as url:
        outcomes = []

        def ask(retries):
            try:
                outcomes.append(client(url, max_retries=retries).embeddings.create(model="tiny-bert", input="a").object)
            except openai.RateLimitError as error:
                outcomes.append(error.code)

        for retries, expected in ((0, {"list", "overloaded"}), (8, {"list"})):
            outcomes.clear()
            threads = [threading.Thread(target=ask, args=(retries,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert set(outcomes) == expected and len(outcomes) == 3, outcomes


def who_is_told_to_wait_waits():
    # Nobody listens there, so it never gets ready.
    with gateway(ARGUMENTS.gateway, TINY, "--backend", "127.0.0.1:1", until="listening on") as url:
        for retries, least in ((0, 0), (1, 2)):
            began = time.monotonic()
            error = raises(openai.InternalServerError, lambda: client(url, max_retries=retries).embeddings.create(
                model="tiny-bert", input="a"))
            assert error.status_code == 503 and error.code == "not_ready", error
            assert least <= time.monotonic() - began < least + 60, "Retry-After is 2 seconds"


def who_waits_too_long_is_told_so():
    with gateway(ARGUMENTS.gateway, TINY, "--engine", "synthetic:vocab=272,max_row_tokens=64,batch_us=3000000",
                 "--request-timeout", "1") as url:
        error = raises(openai.InternalServerError, lambda: client(url, max_retries=0).embeddings.create(
            model="tiny-bert", input="a"))
        assert error.status_code == 504 and error.type == "timeout_error", error


if __name__ == "__main__":
    run(vectors_are_the_references, every_form_has_the_same_bits, the_demo_model_is_the_references,
        errors_have_their_classes, who_is_told_to_come_again_comes_again, who_is_told_to_wait_waits,
        who_waits_too_long_is_told_so)
