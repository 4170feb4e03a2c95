#!/usr/bin/env python3
"""Python's gRPC client against trellis-gateway's tei.v1: grpcio_test.py --gateway PATH --model DIR"""
import argparse
import contextlib
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[4]
TINY_MODELS = ROOT / "tests" / "serve" / "models"
# A sanitizer makes all of it slower.
SECONDS = 300


def stubs(folder):
    """The modules that grpcio-tools makes of our .proto, as whoever has a client of TEI's has them."""
    status = protoc.main(["", f"-I{ROOT / 'serve' / 'proto'}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                          "tei/v1/tei.proto"])
    assert status == 0, status
    sys.path.insert(0, folder)
    from tei.v1 import tei_pb2, tei_pb2_grpc
    return tei_pb2, tei_pb2_grpc


class Served:
    """The program, what it said, and a channel to its gRPC port."""

    def __init__(self, process):
        self.process, self.said = process, []
        for line in process.stderr:
            self.said.append(line)
            if "listening on" in line:
                self.url = "http://" + line.rsplit(" ", 1)[1].strip()
            if "gRPC on" in line:
                self.target = line.rsplit(" ", 1)[1].strip()
            if "ready on" in line:
                break
        else:
            raise AssertionError("".join(self.said))
        # Read on, or a full pipe would stop it.
        self.reader = threading.Thread(target=lambda: self.said.extend(process.stderr))
        self.reader.start()
        self.channel = grpc.insecure_channel(self.target, options=[("grpc.max_receive_message_length", -1)])

    def post(self, path, body, **headers):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS) == 0, "".join(self.said)
        self.reader.join()
        assert any("drained: every accepted request was answered" in line for line in self.said), "".join(self.said)


@contextlib.contextmanager
def served(model, *flags):
    process = subprocess.Popen(
        [ARGUMENTS.gateway, "--model", str(model), "--port", "0", "--grpc-port", "0", "--threads", "1", "--access-log=false", *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        one = Served(process)
        watchdog.cancel()
        with one.channel:
            yield one
        if process.poll() is None:
            one.end()
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()


def reference(name):
    """What transformers and sentence-transformers say of a tiny model (tools/make_tiny_models)."""
    return json.loads((TINY_MODELS / name / "reference.json").read_text(encoding="utf-8"))


def near(values, expected, bound=1e-5):
    values = list(values)
    assert len(values) == len(expected), (len(values), len(expected))
    worst = max(abs(a - b) for a, b in zip(values, expected))
    assert worst <= bound, worst


def fails(code, call, said=""):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() is code, (error.code(), error.details())
        assert said in error.details(), error.details()
        return
    raise AssertionError(f"no {code}")


def vectors_are_the_references():
    texts = [t for t in reference("tiny-bert")["texts"] if t["text"]]
    requests = [tei.EmbedRequest(inputs=t["text"], truncate=True, prompt_name=t.get("prompt_name")) for t in texts]
    with served(TINY_MODELS / "tiny-bert", "--dtype", "f32") as one:
        stub = grpc_of.EmbedStub(one.channel)
        for request, text in zip(requests, texts):
            answer, call = stub.Embed.with_call(request, timeout=SECONDS)
            near(answer.embeddings, text["embedding"])
            assert answer.metadata.compute_tokens == len(text["ids"])
            metadata = dict(call.initial_metadata())
            assert metadata["x-compute-tokens"] == str(len(text["ids"])) and metadata["x-request-id"].startswith("req-")
        for answer, text in zip(stub.EmbedStream(iter(requests * 20), timeout=SECONDS), texts * 20, strict=True):
            near(answer.embeddings, text["embedding"])


def the_demo_model_is_as_over_http():
    texts = [f"query: {word} number {i}" for i in range(100) for word in ("water", "日本", "🙂")]
    with served(ARGUMENTS.model) as one:
        answer = grpc_of.InfoStub(one.channel).Info(tei.InfoRequest())
        assert answer.model_type == tei.MODEL_TYPE_EMBEDDING and answer.max_input_length == 512, answer
        stub = grpc_of.EmbedStub(one.channel)
        # Both faces at the same time. Batches differ, and with them the last bits.
        http = []
        asking = threading.Thread(target=lambda: http.extend(one.post("/embed", {"inputs": texts})))
        asking.start()
        answers = list(stub.EmbedStream((tei.EmbedRequest(inputs=text) for text in texts), timeout=SECONDS))
        asking.join()
        assert len(answers) == len(http) == 300
        for answer, vector in zip(answers, http):
            assert len(vector) == 384
            assert sum(a * b for a, b in zip(answer.embeddings, vector)) > 0.9999
        all_tokens = stub.EmbedAll(tei.EmbedAllRequest(inputs="query: Hello world"))
        assert len(all_tokens.token_embeddings) == 7
        fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.Embed(tei.EmbedRequest(inputs="Car " * 511)), "513 tokens")
        fails(grpc.StatusCode.FAILED_PRECONDITION, lambda: stub.EmbedSparse(tei.EmbedSparseRequest(inputs="a")))
        tokenize = grpc_of.TokenizeStub(one.channel)
        tokens = tokenize.Tokenize(tei.EncodeRequest(inputs="北京天安门", add_special_tokens=True)).tokens
        # As `tokenizers` has them; offsets are bytes.
        assert [t.id for t in tokens] == [0, 6, 8732, 1906, 3586, 6349, 2]
        assert [(t.start, t.stop) for t in tokens[1:-1]] == [(0, 3), (0, 6), (6, 9), (9, 12), (12, 15)]
        assert tokens[0].special and not tokens[0].HasField("start")
        back = tokenize.DecodeStream(iter([tei.DecodeRequest(ids=[35378, 8999]), tei.DecodeRequest(ids=[0, 35378, 2], skip_special_tokens=True)]))
        assert [answer.text for answer in back] == ["Hello world", "Hello"]


def ranks_are_the_references():
    pairs = reference("tiny-reranker")["pairs"]
    logits = [pair["logits"][0] for pair in pairs]
    best_first = sorted(range(len(pairs)), key=lambda i: -logits[i])
    with served(TINY_MODELS / "tiny-reranker", "--dtype", "f32") as one:
        stub = grpc_of.RerankStub(one.channel)
        answer = stub.RerankStream(
            iter([tei.RerankStreamRequest(query=p["query"], text=p["document"], truncate=True, return_text=True) for p in pairs]))
        assert [rank.index for rank in answer.ranks] == best_first
        near([rank.score for rank in answer.ranks], [1 / (1 + math.exp(-logits[i])) for i in best_first])
        assert [rank.text for rank in answer.ranks] == [pairs[i]["document"] for i in best_first]
        assert answer.metadata.compute_tokens == sum(len(p["ids"]) for p in pairs)
        mine = [i for i, p in enumerate(pairs) if p["query"] == pairs[0]["query"]]
        answer = stub.Rerank(tei.RerankRequest(query=pairs[0]["query"], texts=[pairs[i]["document"] for i in mine], raw_scores=True))
        near([rank.score for rank in answer.ranks], sorted((logits[i] for i in mine), reverse=True))


def labels_are_the_references():
    pairs = reference("tiny-bert-classifier")["pairs"]
    requests = [tei.PredictPairRequest(inputs=[p["query"], p["document"]], raw_scores=True, truncate=True) for p in pairs]
    with served(TINY_MODELS / "tiny-bert-classifier", "--dtype", "f32") as one:
        stub = grpc_of.PredictStub(one.channel)
        for answer, pair in zip(stub.PredictPairStream(iter(requests)), pairs, strict=True):
            near([p.score for p in answer.predictions], sorted(pair["logits"], reverse=True))
        assert abs(sum(p.score for p in stub.Predict(tei.PredictRequest(inputs="water")).predictions) - 1) < 1e-6
        fails(grpc.StatusCode.FAILED_PRECONDITION, lambda: grpc_of.EmbedStub(one.channel).Embed(tei.EmbedRequest(inputs="a")))


def a_client_without_our_proto_finds_all_by_reflection():
    with served(TINY_MODELS / "tiny-bert", "--dtype", "f32") as one:
        database = ProtoReflectionDescriptorDatabase(one.channel)
        assert {f"tei.v1.{name}" for name in ("Info", "Embed", "Predict", "Rerank", "Tokenize")} <= set(database.get_services())
        service = descriptor_pool.DescriptorPool(database).FindServiceByName("tei.v1.Embed")
        method = service.FindMethodByName("Embed")
        request = message_factory.GetMessageClass(method.input_type)(inputs="water water water")
        answer = one.channel.unary_unary(
            f"/{service.full_name}/{method.name}", request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString)(request)
        near(answer.embeddings, next(t["embedding"] for t in reference("tiny-bert")["texts"] if t["text"] == "water water water"))


def health_names_the_services():
    serving, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
    with served(TINY_MODELS / "tiny-reranker") as one:
        stub = health_pb2_grpc.HealthStub(one.channel)
        states = {name: stub.Check(health_pb2.HealthCheckRequest(service=name)).status
                  for name in ("", "tei.v1.Info", "tei.v1.Tokenize", "tei.v1.Embed", "tei.v1.Predict", "tei.v1.Rerank")}
        assert states.pop("tei.v1.Embed") == not_serving
        assert set(states.values()) == {serving}, states
        fails(grpc.StatusCode.NOT_FOUND, lambda: stub.Check(health_pb2.HealthCheckRequest(service="other")))


def keys_are_asked_for():
    with served(TINY_MODELS / "tiny-bert", "--api-key", "secret") as one:
        stub = grpc_of.EmbedStub(one.channel)
        request = tei.EmbedRequest(inputs="a")
        fails(grpc.StatusCode.UNAUTHENTICATED, lambda: stub.Embed(request))
        fails(grpc.StatusCode.UNAUTHENTICATED, lambda: list(stub.EmbedStream(iter([request]), metadata=[("authorization", "Bearer no")])))
        metadata = [("authorization", "Bearer secret"), ("x-request-id", "mine")]
        answer, call = stub.Embed.with_call(request, metadata=metadata)
        assert answer.embeddings and dict(call.initial_metadata())["x-request-id"] == "mine"


def failures_have_their_codes():
    # As a slow engine: each batch takes its time. Id 5 gives a row that is not a number, id 6 one that fails.
    engine = "synthetic:vocab=272,max_row_tokens=64,batch_us=300000,nonfinite_id=5,fail_row_id=6"
    with served(TINY_MODELS / "tiny-bert", "--engine", engine, "--max-concurrent-requests", "1") as one:
        stub = grpc_of.EmbedStub(one.channel)
        texts = grpc_of.TokenizeStub(one.channel).DecodeStream(iter([tei.DecodeRequest(ids=[5]), tei.DecodeRequest(ids=[6])]))
        for text in [answer.text for answer in texts]:
            fails(grpc.StatusCode.INTERNAL, lambda: stub.Embed(tei.EmbedRequest(inputs=text)))
        slow = stub.Embed.future(tei.EmbedRequest(inputs="water"))
        # One of both has the only place.
        other = stub.Embed.future(tei.EmbedRequest(inputs="water"))
        codes = {call.code() for call in (slow, other)}
        assert codes == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}, codes
        fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: stub.Embed(tei.EmbedRequest(inputs="water"), timeout=0.05))
        # Streams wait for a place.
        assert len(list(stub.EmbedStream(iter([tei.EmbedRequest(inputs="water")] * 3)))) == 3
        wrong = tei.EmbedRequest(inputs="a")
        wrong.MergeFromString(b"\x20\x07")  # truncation_direction = 7
        fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.Embed(wrong), "`truncation_direction`: 7")
        fails(grpc.StatusCode.UNIMPLEMENTED,
              lambda: stub.Embed(tei.EmbedRequest(inputs="a" * 2000), compression=grpc.Compression.Gzip))
        stream = stub.EmbedStream(iter([tei.EmbedRequest(inputs="water")] * 50))
        next(stream)
        stream.cancel()
        fails(grpc.StatusCode.CANCELLED, lambda: list(stream))
        # What the stream had is given back.
        stub.EmbedStream(iter([tei.EmbedRequest(inputs="water")])).__next__()


def the_end_answers_what_was_accepted():
    engine = "synthetic:vocab=272,max_row_tokens=64,batch_us=1000000"
    with served(TINY_MODELS / "tiny-bert", "--engine", engine) as one:
        stub = grpc_of.EmbedStub(one.channel)
        go_on = threading.Event()

        def messages():
            yield tei.EmbedRequest(inputs="water")
            go_on.wait(SECONDS)

        stream = stub.EmbedStream(messages())
        next(stream)  # from here on it only lasts
        accepted = [stub.Embed.future(tei.EmbedRequest(inputs="water")) for _ in range(3)]
        tokens = grpc_of.TokenizeStub(one.channel)
        tokens.Tokenize(tei.EncodeRequest(inputs="a"))  # behind them on the connection, so they have arrived,
        time.sleep(0.2)  # and by now they are accepted
        one.end()
        assert [call.code() for call in accepted] == [grpc.StatusCode.OK] * 3
        fails(grpc.StatusCode.UNAVAILABLE, lambda: next(stream))
        go_on.set()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True, help="the program trellis-gateway")
    parser.add_argument("--model", required=True, help="folder of multilingual-e5-small")
    ARGUMENTS = parser.parse_args()
    with tempfile.TemporaryDirectory() as modules:
        tei, grpc_of = stubs(modules)
        for test in (vectors_are_the_references, the_demo_model_is_as_over_http, ranks_are_the_references, labels_are_the_references,
                     a_client_without_our_proto_finds_all_by_reflection, health_names_the_services, keys_are_asked_for,
                     failures_have_their_codes, the_end_answers_what_was_accepted):
            test()
            print(f"ok {test.__name__}", flush=True)
