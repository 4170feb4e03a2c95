#!/usr/bin/env python3
"""The page at "/" in a headless Chromium, by the keyboard alone: page_test.py --gateway PATH --model DIR
[--axe axe.min.js] [--pictures DIR]

With --axe each state is audited for accessibility; with --pictures screenshots of each model are left for people.
"""
import argparse
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

from selenium.webdriver.common.keys import Keys

from browser import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from running_gateway import TINY_MODELS, gateway  # noqa: E402  (it lies beside the clients' tests)

NARROW, WIDE = 320, 1200  # 320: WCAG 2.2, 1.4.10


def post(url, path, body, key=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def shown_tokens(page):
    """Text, id and place as they stand on the page, without what is only read out."""
    return page.run(
        "return [...document.querySelectorAll('#tokens .answer li')].map(li => ['.text', '.id', '.place'].map(part =>"
        " { const e = li.querySelector(part).cloneNode(true);"
        "   e.querySelectorAll('.for-ear').forEach(n => n.remove()); return e.textContent; }))")


def say(page, panel):
    return lambda: page.text(f"#{panel} .said") or page.text(f"#{panel} .error")


def submit(page, panel, where):
    """By the keyboard, from the field where the typing ended; waits for the answer."""
    page.tab_to(where)
    page.run("document.querySelector(arguments[0] + ' .said').textContent = ''", f"#{panel}")
    page.press_with_control(Keys.ENTER)
    page.wait(f"an answer in {panel}", say(page, panel))


def check_looks(page, name, pictures):
    """Light and dark, wide and narrow: audited, and nothing is wider than the screen."""
    for scheme in ("light", "dark"):
        for width in (WIDE, NARROW):
            page.show_as(scheme, width)
            assert page.run("return matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
            over = page.run("return document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
            assert over <= 0, f"{name}, {width} pixels: {over} are out of sight"
            page.audit(f"{name}, {scheme}, {width}")
            if pictures:
                page.picture(pictures / f"{name}-{scheme}-{width}.png")
    page.show_as("light", WIDE)


def check_only_from_here(page, url):
    loaded = page.run("return performance.getEntriesByType('resource').map(e => [e.name, e.responseStatus])")
    assert all(name.startswith(url + "/") for name, _ in loaded), loaded
    # style sheet, icon, and the modules
    files = [status for name, status in loaded if name.startswith(url + "/page/")]
    assert len(files) >= 9 and set(files) <= {200, 304}, loaded
    assert page.run("return [localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert not (said := page.complaints()), said


def check_tokens(page, url):
    # Places are bytes of UTF-8; the same values of this text in the tokenizer's reference: tokenizers 0.22.2, XLM-R.
    page.type_into("#tokens-text", "北京天安门")
    submit(page, "tokens", "#tokens-text")
    assert page.text("#tokens .said").startswith("7 tokens, 2 of them special"), page.text("#tokens .said")
    assert [(int(id), place) for _, id, place in shown_tokens(page)] == [
        (0, "special"), (6, "0–3"), (8732, "0–6"), (1906, "6–9"), (3586, "9–12"), (6349, "12–15"), (2, "special")]
    # What is two code units, and spaces, in the browser's own strings.
    text = "a 🍇\t<b>é</b>\nZ"
    page.type_into("#tokens-text", text)
    submit(page, "tokens", "#tokens-text")
    expected = post(url, "/tokenize", {"inputs": text})[0]
    visible = str.maketrans({" ": "␣", "\t": "⇥", "\n": "⏎"})
    shown = shown_tokens(page)
    assert len(shown) == len(expected) > 5
    for (seen, id, place), token in zip(shown, expected):
        assert int(id) == token["id"]
        if not token["special"]:
            start, stop = map(int, place.split("–"))
            assert seen == text.encode()[start:stop].decode().translate(visible), (seen, place)
    assert not page.run("return document.querySelector('#tokens .answer b')"), "a text is never markup"


def check_errors(page, url):
    """In the server's words."""
    page.type_into("#tokens-text", "")
    submit(page, "tokens", "#tokens-text")
    refused = post(url, "/tokenize", {"inputs": ""})
    assert page.text("#tokens .error") == f"400 {refused['error_type']}: {refused['error']}", page.text("#tokens .error")
    assert not shown_tokens(page) and not page.text("#tokens .said")


def check_load(page):
    page.wait("times of answers", lambda: "Half answered within" in page.text("#load-now") and
              page.run("return [...document.querySelectorAll('#load-charts .line-0')].some(l => l.getAttribute('d'))"))
    polls = "return performance.getEntriesByType('resource').filter(e => e.name.endsWith('/metrics')).length"
    page.tab_to("#load-pause")
    page.press(Keys.SPACE)
    assert page.run("return document.activeElement.ariaPressed") == "true"
    before = page.run(polls)
    time.sleep(6)
    # One may have been under way.
    assert page.run(polls) <= before + 1, "paused, and it asks all the same"
    before = page.run(polls)
    page.press(Keys.SPACE)
    page.wait("metrics again", lambda: page.run(polls) > before)


def embeds(arguments, page):
    with gateway(arguments.gateway, arguments.model) as url:
        page.open(url)
        page.wait("the panels", lambda: page.seen("#tokens"))
        assert page.seen("#similarity") and not page.seen("#rerank") and not page.seen("#key")
        check_tokens(page, url)
        one, other = "Wie spät ist es? 🕰", "what time is it"
        page.type_into("#similarity-one", one)
        page.type_into("#similarity-other", other)
        submit(page, "similarity", "#similarity-other")
        expected = post(url, "/similarity", {"inputs": {"source_sentence": one, "sentences": [other]}})[0]
        assert page.text("#similarity .said") == f"Cosine similarity: {expected:.4f}", page.text("#similarity .said")
        for _ in range(30):
            post(url, "/embed", {"inputs": "water"})
        page.wait("a time", lambda: " ms" in page.text("#load-now"))
        check_load(page)
        page.type_into("#tokens-text", "Trellises hold up whatever grows: roses, Kürbisse, 葡萄 🍇")
        submit(page, "tokens", "#tokens-text")
        check_looks(page, "embeds", arguments.pictures)
        check_errors(page, url)
        check_only_from_here(page, url)
    # The server is gone.
    page.wait("that there is no answer", lambda: page.text("#load .error").startswith("No answer from the server"))
    submit(page, "tokens", "#tokens-text")
    assert page.text("#tokens .error").startswith("No answer from the server"), page.text("#tokens .error")


def reranks(arguments, page):
    with gateway(arguments.gateway, TINY_MODELS / "tiny-reranker") as url:
        page.open(url)
        page.wait("the panels", lambda: page.seen("#rerank"))
        assert page.seen("#tokens") and not page.seen("#similarity")
        texts = ["water", "the river is wide", "", "a"]
        page.type_into("#rerank-query", "a river")
        page.type_into("#rerank-texts", "\n".join(texts))
        submit(page, "rerank", "#rerank-texts")
        texts.remove("")  # an empty line is no document
        expected = post(url, "/rerank", {"query": "a river", "texts": texts})
        shown = page.run("return [...document.querySelectorAll('#rerank .answer li')].map(li =>"
                         " [li.querySelector('.text').textContent, li.querySelector('.number').textContent])")
        assert shown == [[texts[rank["index"]], f"{rank['score']:.4f}"] for rank in expected], (shown, expected)
        check_looks(page, "reranks", arguments.pictures)
        # Enter in the query, which is of one line. No documents is refused in the server's words.
        page.type_into("#rerank-texts", "")
        page.tab_to("#rerank-query")
        page.run("document.querySelector('#rerank .said').textContent = ''")
        page.press(Keys.ENTER)
        page.wait("an answer", say(page, "rerank"))
        refused = post(url, "/rerank", {"query": "a river", "texts": []})
        assert page.text("#rerank .error") == f"400 {refused['error_type']}: {refused['error']}", page.text("#rerank .error")
        check_looks(page, "refused", arguments.pictures)


def classifies(arguments, page):
    with gateway(arguments.gateway, TINY_MODELS / "tiny-bert-classifier") as url:
        page.open(url)
        page.wait("the panels", lambda: page.seen("#tokens"))
        assert not page.seen("#similarity") and not page.seen("#rerank")
        assert "/predict" in page.text("#served")
        check_only_from_here(page, url)


def asks_for_a_key(arguments, page):
    with gateway(arguments.gateway, TINY_MODELS / "tiny-bert", "--api-key", "the key") as url:
        page.open(url)
        page.wait("the key's form", lambda: page.seen("#key"))
        assert not page.seen("#tokens")
        assert page.focused() == "#key-value"
        check_looks(page, "key", arguments.pictures)
        assert "no API key" in page.text("#key-why")
        page.press("another", Keys.ENTER)
        page.wait("that it is wrong", lambda: "none that is known here" in page.text("#key-why"))
        page.tab_to("#key-value")
        page.press("the key", Keys.ENTER)
        page.wait("the panels", lambda: page.seen("#tokens"))
        assert not page.seen("#key")
        page.wait("the focus in the text", lambda: page.focused() == "#tokens-text")
        submit(page, "tokens", "#tokens-text")
        assert shown_tokens(page)
        check_only_from_here(page, url)
        assert page.run("return document.getElementById('key-value').value") == ""
        page.open(url)
        page.wait("the form again: a reload forgets the key", lambda: page.seen("#key"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True, help="the program trellis-gateway")
    parser.add_argument("--model", required=True, help="folder of multilingual-e5-small")
    parser.add_argument("--axe", type=pathlib.Path, help="axe.min.js of axe-core")
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for screenshots")
    arguments = parser.parse_args()
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    axe = arguments.axe.read_text(encoding="utf-8") if arguments.axe else None
    for test in (embeds, reranks, classifies, asks_for_a_key):
        with browser(axe) as page:
            page.show_as("light", WIDE)
            test(arguments, page)
        print(f"ok {test.__name__}", flush=True)


if __name__ == "__main__":
    main()
