#!/usr/bin/env python3
"""curl, and what browsers ask first, against trellis-gateway: curl_test.py --gateway PATH --model DIR"""
import json
import subprocess

from running_gateway import TINY_MODELS, assert_near, gateway, parse_arguments, reference, run

ARGUMENTS = parse_arguments()
TINY = TINY_MODELS / "tiny-bert"
TEXT = next(t for t in reference("tiny-bert")["texts"] if t["text"] and "prompt_name" not in t)
BODY = json.dumps({"inputs": TEXT["text"]})


def curl(*arguments, body=None):
    """The answer's head (all of them, where there are several) and body."""
    done = subprocess.run(["curl", "--silent", "--show-error", "--include", "--max-time", "60", *arguments],
                          input=body and body.encode("utf-8"), stdout=subprocess.PIPE, check=True)
    head, _, rest = done.stdout.decode("utf-8").partition("\r\n\r\n")
    while rest.startswith("HTTP/"):
        more, _, rest = rest.partition("\r\n\r\n")
        head += "\r\n" + more
    return head.lower(), rest


def status(head):
    """Of the answer itself, which "100 Continue" may come before."""
    return [line.split()[1] for line in head.splitlines() if line.startswith("http/")][-1]


def assert_served(answer):
    head, body = answer
    assert status(head) == "200", head
    assert_near(json.loads(body)[0], TEXT["embedding"])


def bodies_in_every_way():
    with gateway(ARGUMENTS.gateway, TINY, "--dtype", "f32") as url:
        post = ["-H", "Content-Type: application/json", "--data-binary", "@-", url + "/embed"]
        assert_served(curl(*post, body=BODY))
        assert_served(curl("-H", "Transfer-Encoding: chunked", *post, body=BODY))
        head, body = curl("-H", "Expect: 100-continue", *post, body=BODY)
        assert head.startswith("http/1.1 100"), head
        assert_served((head, body))
        assert_served(curl("-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue", *post, body=BODY))
        assert_served(curl("--http1.0", *post, body=BODY))
        # curl asks for leave by itself where a body is large.
        large = json.dumps({"inputs": TEXT["text"], "more": "x" * 3_000_000})
        assert_served(curl(*post, body=large))
        assert_served(curl("-H", "Transfer-Encoding: chunked", *post, body=large))
        # Without a type curl says that it sends a form.
        head, _ = curl("--data-binary", "@-", url + "/embed", body=BODY)
        assert status(head) == "415", head
        head, _ = curl("--head", url + "/health")
        assert status(head) == "200", head


def bodies_that_are_too_large():
    with gateway(ARGUMENTS.gateway, TINY, "--payload-limit", "100000") as url:
        post = ["-H", "Content-Type: application/json", "--data-binary", "@-", url + "/v1/embeddings"]
        large = json.dumps({"input": "x" * 3_000_000})
        for more in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect:"],
                     ["-H", "Transfer-Encoding: chunked", "-H", "Expect:"]):
            head, body = curl(*more, *post, body=large)
            assert status(head) == "413", head
            assert json.loads(body)["error"]["code"] == "payload_too_large", body


def a_page_asks_first():
    page = "https://page.example"
    with gateway(ARGUMENTS.gateway, TINY, "--dtype", "f32", "--cors-allow-origin", page) as url:
        head, body = curl("-X", "OPTIONS", "-H", f"Origin: {page}", "-H", "Access-Control-Request-Method: POST", "-H",
                          "Access-Control-Request-Headers: authorization,content-type", url + "/embed")
        assert status(head) == "204" and body == "", (head, body)
        assert f"access-control-allow-origin: {page}" in head, head
        assert "post" in head.split("access-control-allow-methods:")[1].splitlines()[0], head
        allowed = head.split("access-control-allow-headers:")[1].splitlines()[0]
        assert "authorization" in allowed and "content-type" in allowed, head
        answer = curl("-H", f"Origin: {page}", "-H", "Content-Type: application/json", "--data-binary", "@-", url + "/embed",
                      body=BODY)
        assert_served(answer)
        assert f"access-control-allow-origin: {page}" in answer[0], answer[0]
        head, _ = curl("-H", f"Origin: {page}", url + "/none")
        assert status(head) == "404" and f"access-control-allow-origin: {page}" in head, head
    with gateway(ARGUMENTS.gateway, TINY) as url:
        head, _ = curl("-X", "OPTIONS", "-H", f"Origin: {page}", "-H", "Access-Control-Request-Method: POST", url + "/embed")
        assert status(head) == "405" and "access-control" not in head, "off unless it is asked for"


if __name__ == "__main__":
    run(bodies_in_every_way, bodies_that_are_too_large, a_page_asks_first)
