#!/usr/bin/env python3
"""Writes odd_files.golden.jsonl: small odd or broken tokenizer.json files and what tokenizers makes of them.

  pip install tokenizers==0.22.2
  tests/format/make_odd_files_golden.py > tests/format/odd_files.golden.jsonl

A line: name, json, hf ("loads", "refuses" or "panics"), and for files that load the ids of TEXTS
(null where the encoding panics), without truncation and padding. The first line tells the version.
"""
import json
import sys

import tokenizers

TEXTS = ["ab  zz a<s>", "b \u2581aq1 zz"]
VOCAB = '[["<unk>",0],["a",-1.0],["\u2581",-2.0],["b",-3.5],["<s>",0.0],["ab",-4],["\u2581a",-2.25],["z",-7]]'
METASPACE = '"type":"Metaspace","replacement":"\u2581"'
AB = ('"single":[{"Sequence":{"id":"A","type_id":0}}],'
      '"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}]')
S_AB = ('"single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],'
        '"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}]')
SPECIALS = '"special_tokens":{"<s>":{"id":"<s>","ids":[4],"tokens":["<s>"]}}'


def document(**parts):
    fields = {
        "version": '"1.0"', "truncation": "null", "padding": "null", "added_tokens": "[]", "normalizer": "null",
        "pre_tokenizer": "null", "post_processor": "null", "decoder": "null",
        "model": '{"type":"Unigram","unk_id":0,"vocab":%s}' % VOCAB,
    }
    fields.update(parts)
    return "{" + ",".join('"%s":%s' % item for item in fields.items() if item[1] is not None) + "}"


def added(content, id="9", lstrip="false", normalized="false", special="true", more=""):
    return ('{"id":%s,"content":"%s","single_word":false,"lstrip":%s,"rstrip":false,"normalized":%s,"special":%s%s}'
            % (id, content, lstrip, normalized, special, more))


def tokens(*items):
    return document(added_tokens="[" + ",".join(items) + "]")


def model(text):
    return document(model="{" + text + "}")


def score(text):
    return model('"type":"Unigram","unk_id":0,"vocab":[["x",%s]]' % text)


def piece(text):
    return model('"type":"Unigram","unk_id":0,"vocab":[["%s",1]]' % text)


def cases():
    for key in ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"):
        yield "absent-" + key, document(**{key: None})
        yield "null-" + key, document(**{key: "null"})
        yield "number-" + key, document(**{key: "3"})
    plain = document()
    yield "plain", plain
    yield "blanks-around", " \n\t\r" + plain + " \n"
    yield "blanks-inside", json.dumps(json.loads(plain), indent=1)
    yield "form-feed-before", "\f" + plain
    yield "nul-after", plain + "\0"
    yield "byte-order-mark", "\ufeff" + plain
    yield "empty", ""
    yield "only-blanks", " \n"
    yield "only-brace", "{"
    yield "empty-object", "{}"
    yield "array", "[" + plain + "]"
    yield "cut", plain[: len(plain) // 2]
    yield "last-brace-cut", plain[:-1]
    yield "trailing-junk", plain + "x"
    yield "trailing-brace", plain + "}"
    yield "two-objects", plain + plain
    yield "trailing-comma", plain[:-1] + ",}"
    yield "wrong-bracket", plain[:-1] + "]"
    yield "unknown-key", plain[:-1] + ',"surprise":1}'
    yield "escaped-key", plain.replace('"version"', '"\\u0076ersion"')
    yield "version-2", document(version='"2"')
    yield "version-again-bad", plain[:-1] + ',"version":"2"}'
    yield "version-again", plain[:-1] + ',"version":"1.0"}'
    yield "normalizer-again-null", document(
        normalizer='{"type":"Replace","pattern":{"String":"b"},"content":"a"}')[:-1] + ',"normalizer":null}'
    yield "model-again", plain[:-1] + ',"model":{"type":"Unigram","unk_id":0,"vocab":[["x",1]]}}'
    yield "model-again-first-bad", score("null")[:-1] + ',"model":{"type":"Unigram","unk_id":0,"vocab":[["x",1]]}}'

    yield "added-plain", tokens(added("zz"))
    yield "added-extra-key", tokens(added("zz", more=',"foo":{"a":[1]}'))
    yield "added-content-twice", tokens(added("zz", more=',"content":"yy"'))
    yield "added-id-twice", tokens(added("zz", more=',"id":7'))
    for field in ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"):
        token = json.loads(added("zz"))
        del token[field]
        yield "added-without-" + field, tokens(json.dumps(token))
        token[field] = None
        yield "added-null-" + field, tokens(json.dumps(token))
    for text in ("-1", "1.0", "4294967295", "4294967296", '"1"', "1e0", "-0"):
        yield "added-id-" + text, tokens(added("zz", id=text))
    yield "added-special-1", tokens(added("zz", special="1"))
    yield "added-null", tokens("null")
    yield "added-array", tokens('[1,"zz",false,false,false,false,true]')
    yield "added-empty-content", tokens(added(""), added("zz"))
    yield "added-id-of-a-piece", tokens(added("a", id="3"))
    yield "added-id-taken", tokens(added("zz", id="1"))
    yield "added-same-twice", tokens(added("zz"), added("zz"))
    yield "added-again-lstrip", tokens(added("zz"), added("zz", lstrip="true"))
    yield "added-again-no-lstrip", tokens(added("zz", lstrip="true"), added("zz"))
    yield "added-again-back", tokens(added("zz"), added("zz", lstrip="true"), added("zz"))
    yield "added-again-not-special", tokens(added("zz"), added("zz", lstrip="true", special="false"))
    yield "added-again-special", tokens(added("zz", special="false"), added("zz", lstrip="true"))
    yield "added-again-normalized", tokens(added("zz", special="false", normalized="true"),
                                           added("zz", special="false", lstrip="true"))
    yield "added-order", tokens(added("q1", special="false"), added("q", lstrip="true"), added(""),
                                added("a", lstrip="true"), added("zz", id="0"))
    yield "added-all-normalized", tokens(added("zz", normalized="true"), added("q1", normalized="true"))
    yield "added-one-normalized", tokens(added("zz", normalized="true"), added("q1"))
    yield "added-replacement-character", tokens(added("\ufffd"))
    yield "added-single-word", tokens(added("zz").replace('"single_word":false', '"single_word":true'))

    unigram = '"type":"Unigram","unk_id":0,"vocab":%s' % VOCAB
    yield "model-no-type", model('"unk_id":0,"vocab":%s' % VOCAB)
    yield "model-type-twice", model('"type":"Unigram",' + unigram)
    yield "model-type-bpe-first", model('"type":"BPE",' + unigram)
    yield "model-type-bpe-last", model(unigram + ',"type":"BPE"')
    yield "model-type-last", model('"unk_id":0,"vocab":%s,"type":"Unigram"' % VOCAB)
    yield "model-type-number", model('"type":3,"unk_id":0,"vocab":%s' % VOCAB)
    yield "model-type-null", model('"type":null,"unk_id":0,"vocab":%s' % VOCAB)
    yield "model-type-bpe", model('"type":"BPE","unk_id":0,"vocab":%s' % VOCAB)
    yield "model-type-unknown", model('"type":"Bigram","unk_id":0,"vocab":%s' % VOCAB)
    yield "model-extra-key", model(unigram + ',"foo":[1,{"x":2}]')
    yield "model-vocab-twice", model(unigram + ',"vocab":[["x",1]]')
    yield "model-vocab-twice-first-bad", model('"vocab":3,' + unigram)
    yield "model-unk-absent", model('"type":"Unigram","vocab":[["a",-1]]')
    yield "model-unk-null", model('"type":"Unigram","unk_id":null,"vocab":[["a",-1]]')
    for text in ("1.0", "1e0", '"0"', "7", "8", "18446744073709551616", "4294967296", "-0", "-1", "true", "[0]"):
        yield "model-unk-" + text, model('"type":"Unigram","unk_id":%s,"vocab":%s' % (text, VOCAB))
    for text in ("null", "true", "false", "0", '"x"'):
        yield "model-byte-fallback-" + text, model(unigram + ',"byte_fallback":' + text)
    yield "model-empty-vocab", model('"type":"Unigram","unk_id":0,"vocab":[]')
    yield "model-empty-vocab-no-unk", model('"type":"Unigram","unk_id":null,"vocab":[]')
    yield "model-no-vocab", model('"type":"Unigram","unk_id":null')
    for text in ("null", "{}", '"x"', '[["x"]]', '[["x",1,2]]', "[[]]", "[[1,1]]", '[{"0":"x","1":1}]', '[["x",null]]',
                 '[["x","1"]]', '[["x",true]]', '[["x",[1]]]', '["x",1]', '[["x":1]]', '[["x" 1]]', '[["x",1],]',
                 '[["x",1,]]', "[,]", '[["x",1]]]', '[["x",1}]'):
        yield "vocab-" + text, model('"type":"Unigram","unk_id":0,"vocab":' + text)
    yield "piece-twice", model('"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],["b",-1],["a",-3]]')
    yield "piece-empty", model('"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["",-1],["b",-1],["a",-3]]')
    for text in ("01", "\"\\ud800\"", "1e400", "tru", "truefalse", "nul", "[1,,2]", '{"a" 1}', '{"a":1,}', "{1:2}", "+1"):
        yield "ignored-" + text, model(unigram + ',"foo":' + text)
    for depth in (124, 125, 126, 127, 2000):
        yield "ignored-depth-%d" % depth, model(unigram + ',"foo":' + "[" * depth + "]" * depth)
        yield "ignored-depth-objects-%d" % depth, model(unigram + ',"foo":' + '{"x":' * depth + "1" + "}" * depth)
    for text in (r"\ud800", r"\udc00", r"\ud83d\ude00", r"\ud800\u0041", r"\ud800x", r"\ud800\n", r"\udc00\ud800",
                 r"\ud83d\ud83d\ude00", r"\u00zz", r"\u00", r"\u0000", r"\x", r"\/", "\t", "\x7f", r"\"", r"\\",
                 r"\b\f\n\r\t", r"\u00e9\u2581\uFFFF", "\u2028"):
        yield "piece-" + json.dumps(text), piece(text)
    for text in ("3000", "-0.0", "1.", ".5", "01", "+1", "-", "1e", "1E+5", "1e-400", "1e400", "-1e400", "NaN", "-1.5abc",
                 "- 1", "0x1", "1 2", "1e999999999999", "Infinity", "1\f"):
        yield "score-" + json.dumps(text), score(text)

    for more in ("", ',"add_prefix_space":true', ',"add_prefix_space":false', ',"add_prefix_space":null',
                 ',"add_prefix_space":true,"prepend_scheme":"never"', ',"add_prefix_space":false,"prepend_scheme":"never"',
                 ',"add_prefix_space":false,"prepend_scheme":"first"', ',"add_prefix_space":true,"prepend_scheme":"first"',
                 ',"prepend_scheme":null', ',"prepend_scheme":"Always"', ',"prepend_scheme":"sometimes"',
                 ',"prepend_scheme":"\\u006eever"', ',"prepend_scheme":3', ',"split":null', ',"split":1',
                 ',"split":false,"str_rep":null', ',"str_rep":"x"', ',"str_rep":3', ',"foo":3',
                 ',"replacement":"b"', ',"type":"Metaspace"', ',"type":"WhitespaceSplit"',
                 ',"prepend_scheme":"always","prepend_scheme":"never"'):
        yield "metaspace-" + more, document(pre_tokenizer="{" + METASPACE + more + "}")
        yield "decoder-metaspace-" + more, document(decoder="{" + METASPACE + more + "}")
    for text in ('""', '"\u2581\u2581"', "null", '"\ufffd"', '"e\u0301"', '" "'):
        yield "replacement-" + text, document(pre_tokenizer='{"type":"Metaspace","replacement":%s}' % text)
    yield "pre-tokenizer-digits", document(pre_tokenizer='{"type":"Digits","individual_digits":true}')
    for text in ('{"type":"Metaspace"}', '{"replacement":"x"}', '{"type":"WhitespaceSplit"}',
                 '{"type":"WhitespaceSplit","content":5}', '"WhitespaceSplit"', '{"type":"Sequence","pretokenizers":[]}',
                 '{"type":"Sequence"}', '{"type":"Sequence","pretokenizers":[null]}',
                 '{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{%s}]}' % METASPACE,
                 '{"pretokenizers":[{"type":"WhitespaceSplit"},{%s}],"type":"Sequence"}' % METASPACE,
                 '{"type":"Sequence","pretokenizers":[{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"}]}]}',
                 '{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"}],"pretokenizers":[{%s}]}' % METASPACE,
                 '{"type":"Nope"}', "{}", "[]", "false"):
        yield "pre-tokenizer-" + text, document(pre_tokenizer=text)
    deep = '{"type":"WhitespaceSplit"}'
    for _ in range(70):
        deep = '{"type":"Sequence","pretokenizers":[%s]}' % deep
    yield "pre-tokenizer-deep", document(pre_tokenizer=deep)

    replace = '{"type":"Replace","content":"a","pattern":%s}'
    normalizers = {
        "string": replace % '{"String":"b"}', "regex-blanks": replace % '{"Regex":" {2,}"}',
        "regex-other": replace % '{"Regex":"b+"}', "regex-broken": replace % '{"Regex":"("}',
        "string-empty": replace % '{"String":""}', "pattern-string": replace % '"b"',
        "pattern-two": replace % '{"String":"b","Regex":"a"}', "pattern-empty": replace % "{}",
        "pattern-unknown": replace % '{"string":"b"}', "pattern-twice": replace % '{"String":"x"},"pattern":{"String":"b"}',
        "string-twice": replace % '{"String":"x","String":"b"}', "no-pattern": '{"type":"Replace","content":"a"}',
        "no-content": '{"type":"Replace","pattern":{"String":"b"}}',
        "content-null": '{"type":"Replace","pattern":{"String":"b"},"content":null}',
        "extra": replace % '{"String":"b"},"foo":1', "sequence-empty": '{"type":"Sequence","normalizers":[]}',
        "sequence-nested": '{"type":"Sequence","normalizers":[%s,{"type":"Sequence","normalizers":[%s]}]}'
                           % (replace % '{"String":"b"}', '{"type":"Replace","pattern":{"String":"a"},"content":"bb"}'),
        "sequence-null": '{"type":"Sequence","normalizers":null}', "sequence-absent": '{"type":"Sequence"}',
        "nfc": '{"type":"NFC"}', "empty": "{}",
    }
    for name, text in normalizers.items():
        yield "normalizer-" + name, document(normalizer=text)
    for text in ("", "AAAA", "AAAAAB==", "AAAA AA==", "AAAA\\nAA==", "BAAAAAAAAAD/", "BAAAAAAAAAA=", "!!!!", "====",
                 "BAAAAAAAAAAA", "BAAAAAAAAABh", "BQAAAAAAAABh", "CAAAAAAAAABh"):
        yield "charsmap-" + text, document(normalizer='{"type":"Precompiled","precompiled_charsmap":"%s"}' % text)
    yield "charsmap-absent", document(normalizer='{"type":"Precompiled"}')
    yield "charsmap-null", document(normalizer='{"type":"Precompiled","precompiled_charsmap":null}')

    template = {
        "plain": "%s,%s" % (AB, SPECIALS), "no-specials": AB, "empty-specials": AB + ',"special_tokens":{}',
        "null-specials": AB + ',"special_tokens":null', "unknown-special": S_AB + ',"special_tokens":{}',
        "special": "%s,%s" % (S_AB, SPECIALS), "extra-key": '%s,%s,"foo":1' % (AB, SPECIALS),
        "pair-twice": '%s,%s,"pair":[]' % (AB, SPECIALS),
        "type-twice": '"type":"TemplateProcessing",%s,%s' % (AB, SPECIALS),
        "sep-and-cls": '"sep":["</s>",2],"cls":["<s>",0],%s,%s' % (AB, SPECIALS),
    }
    special = {
        "three-ids": '"<s>":{"id":"x","ids":[4,1,2],"tokens":["<s>"]}', "no-ids": '"<s>":{"id":"x","ids":[],"tokens":[]}',
        "name-twice": '"<s>":{"id":"x","ids":[1],"tokens":["q"]},"<s>":{"id":"x","ids":[2],"tokens":["q"]}',
        "id-beyond": '"<s>":{"id":"x","ids":[77],"tokens":["q"]}', "id-negative": '"<s>":{"id":"x","ids":[-1],"tokens":["q"]}',
        "extra": '"<s>":{"id":"x","ids":[1],"tokens":["q"],"foo":1}', "no-tokens": '"<s>":{"id":"x","ids":[1]}',
        "no-id": '"<s>":{"ids":[1],"tokens":["q"]}', "ids-number": '"<s>":{"id":"x","ids":1,"tokens":["q"]}',
    }
    template.update({"special-" + k: '%s,"special_tokens":{%s}' % (S_AB, v) for k, v in special.items()})
    single = {
        "empty": "[]", "old-spelling": '["$A"]', "string": '"$A"', "empty-piece": "[{}]",
        "sequence-a": '[{"Sequence":{"id":"a","type_id":0}}]', "no-type-id": '[{"Sequence":{"id":"A"}}]',
        "type-id-negative": '[{"Sequence":{"id":"A","type_id":-1}}]',
        "type-id-300": '[{"Sequence":{"id":"A","type_id":300}}]',
        "extra": '[{"Sequence":{"id":"A","type_id":1,"foo":3}}]',
        "type-id-twice": '[{"Sequence":{"id":"A","type_id":1,"type_id":2}}]',
        "only-b": '[{"Sequence":{"id":"B","type_id":1}}]', "piece-as-array": '[{"Sequence":["A",1]}]',
        "unknown-piece": '[{"Other":{"id":"A","type_id":1}}]',
        "a-twice": '[{"Sequence":{"id":"A","type_id":1}},{"Sequence":{"id":"A","type_id":0}}]',
        "two-in-one": '[{"Sequence":{"id":"A","type_id":0},"SpecialToken":{"id":"<s>","type_id":0}}]',
    }
    template.update({"single-" + k: '"single":%s,"pair":[],%s' % (v, SPECIALS) for k, v in single.items()})
    for name, text in template.items():
        yield "template-" + name, document(post_processor='{"type":"TemplateProcessing",%s}' % text)
    post_processors = {
        "type-unknown": '{"type":"Foo",%s,%s}' % (S_AB, SPECIALS), "type-absent": "{%s,%s}" % (S_AB, SPECIALS),
        "roberta": '{"type":"RobertaProcessing","sep":["b",3],"cls":["a",1],"trim_offsets":true,"add_prefix_space":true}',
        "bert": '{"type":"BertProcessing","sep":["b",3],"cls":["a",1]}',
        "bert-type-absent": '{"sep":["b",3],"cls":["a",1]}',
        "sequence": '{"type":"Sequence","processors":[{"type":"TemplateProcessing",%s,%s}]}' % (S_AB, SPECIALS),
        "array": "[]",
    }
    for name, text in post_processors.items():
        yield "post-processor-" + name, document(post_processor=text)
    yield "decoder-fuse", document(decoder='{"type":"Fuse"}')
    for text in ('{"type":"Sequence","decoders":[]}', '{"type":"Sequence","decoders":[{%s},{"type":"Sequence","decoders":[]}]}'
                 % METASPACE, '{"type":"Sequence"}', '{"type":"Foo"}', "{}"):
        yield "decoder-" + text, document(decoder=text)

    section = '{"direction":"Right","max_length":5,"strategy":"LongestFirst","stride":0%s}'
    for text in (section % "", section % ',"foo":1', section % ',"stride":1',
                 '{"max_length":5,"strategy":"OnlyFirst","stride":0}', '{"strategy":"LongestFirst","stride":0}',
                 '{"max_length":5,"strategy":"LongestFirst"}', '{"max_length":5,"stride":0}',
                 '{"max_length":5,"strategy":"longest_first","stride":0}', '{"max_length":-5,"strategy":"LongestFirst","stride":0}',
                 '{"max_length":5.0,"strategy":"LongestFirst","stride":0}',
                 '{"direction":"right","max_length":5,"strategy":"LongestFirst","stride":0}',
                 '{"direction":null,"max_length":5,"strategy":"LongestFirst","stride":0}',
                 '{"max_length":0,"strategy":"LongestFirst","stride":7}', "false", '"x"'):
        yield "truncation-" + text, document(truncation=text)
    yield "truncation-stride-too-big", document(truncation='{"max_length":5,"strategy":"OnlySecond","stride":5}')
    yield "truncation-array", document(truncation='["Right",5,"LongestFirst",0]')
    section = '"pad_id":0,"pad_type_id":0,"pad_token":"x"'
    for text in ('"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,' + section,
                 '"strategy":"BatchLongest","direction":"Left",' + section, '"strategy":{"Fixed":3},"direction":"Right",' + section,
                 '"strategy":{"Fixed":-3},"direction":"Right",' + section, '"strategy":"Fixed","direction":"Right",' + section,
                 '"strategy":"Longest","direction":"Right",' + section, '"strategy":"BatchLongest","direction":"Up",' + section,
                 '"strategy":"BatchLongest","direction":"Left","pad_id":9999,"pad_type_id":0,"pad_token":"x","foo":1',
                 '"strategy":"BatchLongest","direction":"Left","pad_id":0,"pad_type_id":0',
                 '"strategy":"BatchLongest","direction":"Left","pad_to_multiple_of":0,' + section,
                 '"strategy":"BatchLongest","direction":"Left","pad_to_multiple_of":"2",' + section,
                 '"strategy":"BatchLongest","direction":"Left","pad_id":0,' + section):
        yield "padding-{" + text + "}", document(padding="{" + text + "}")


def encode(tokenizer, text):
    try:
        return tokenizer.encode(text).ids
    except BaseException:  # the wheel's PanicException is no Exception
        return None


def main():
    def line(value):
        sys.stdout.write(json.dumps(value) + "\n")

    line({"tokenizers": tokenizers.__version__, "by": "tests/format/make_odd_files_golden.py", "texts": TEXTS})
    for name, text in cases():
        out = {"name": name, "json": text}
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception:
            line(dict(out, hf="refuses"))
            continue
        except BaseException:
            line(dict(out, hf="panics"))
            continue
        tokenizer.no_truncation()
        tokenizer.no_padding()
        line(dict(out, hf="loads", ids=[encode(tokenizer, t) for t in TEXTS]))


if __name__ == "__main__":
    main()
