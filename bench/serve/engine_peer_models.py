"""The demo model as its peers want it: ONNX in standard operators (OpenVINO), in fused ones and in bytes (ONNX Runtime),
and CTranslate2's format. Written from model.safetensors without torch: what an exporter and an optimizer would end up with."""
import json
import os
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
MICROSOFT = "com.microsoft"


class Checkpoint:
    """A BERT in float32, straight from its folder."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
            raise SystemExit(f"{folder}: {config['model_type']} with {config['hidden_act']}, expected bert with gelu")
        self.hidden, self.layers = config["hidden_size"], config["num_hidden_layers"]
        self.heads, self.epsilon = config["num_attention_heads"], config["layer_norm_eps"]
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            self.header = json.loads(file.read(size))
        self.bytes = np.memmap(path, np.uint8, "r", offset=8 + size)

    def __call__(self, name):
        entry = self.header[name]
        if entry["dtype"] != "F32":
            raise SystemExit(f"{name}: {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        return np.array(self.bytes[begin:end]).view(np.float32).reshape(entry["shape"])


class Graph:
    """ONNX nodes one after another; each method returns the name of its result."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind, *inputs, domain="", **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name + kind, domain=domain, **attributes))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))


def _embed(graph, get):
    """The first hidden states, before the layers."""
    words = graph.add("Gather", graph.constant(get("embeddings.word_embeddings.weight")), "input_ids")
    length = graph.add("Slice", graph.add("Shape", "input_ids"), graph.ints(1), graph.ints(2))
    places = graph.add("Slice", graph.constant(get("embeddings.position_embeddings.weight")), graph.ints(0), length, graph.ints(0))
    typed = graph.add("Add", places, graph.constant(get("embeddings.token_type_embeddings.weight")[0]))
    return _norm(graph, get, "embeddings.LayerNorm", graph.add("Add", words, typed))


def _norm(graph, get, name, x):
    return graph.add("LayerNormalization", x, graph.constant(get(name + ".weight")), graph.constant(get(name + ".bias")),
                     axis=-1, epsilon=get.epsilon)


def _linear(graph, get, name, x):
    product = graph.add("MatMul", x, graph.constant(get(name + ".weight").T))
    return graph.add("Add", product, graph.constant(get(name + ".bias")))


def _standard_layer(graph, get, name, x, mask):
    size = get.hidden // get.heads

    def heads(part, order):
        split = graph.add("Reshape", _linear(graph, get, f"{name}attention.self.{part}", x), graph.ints(0, 0, get.heads, size))
        return graph.add("Transpose", split, perm=order)

    scores = graph.add("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
    scaled = graph.add("Mul", scores, graph.constant(np.float32(size ** -0.5)))
    weights = graph.add("Softmax", graph.add("Add", scaled, mask), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", weights, heads("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", mixed, graph.ints(0, 0, get.hidden))
    x = _norm(graph, get, name + "attention.output.LayerNorm",
              graph.add("Add", _linear(graph, get, name + "attention.output.dense", joined), x))
    wide = graph.add("Gelu", _linear(graph, get, name + "intermediate.dense", x))
    return _norm(graph, get, name + "output.LayerNorm", graph.add("Add", _linear(graph, get, name + "output.dense", wide), x))


def _fused_layer(graph, get, name, x, mask):
    """As onnxruntime.transformers.optimizer leaves a layer."""
    parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
    mixed = graph.add("Attention", x, graph.constant(np.concatenate([get(p + ".weight").T for p in parts], axis=1)),
                      graph.constant(np.concatenate([get(p + ".bias") for p in parts])), mask, domain=MICROSOFT,
                      num_heads=get.heads)

    def add_and_norm(branch, linear, norm):
        product = graph.add("MatMul", branch, graph.constant(get(linear + ".weight").T))
        return graph.add("SkipLayerNormalization", product, x, graph.constant(get(norm + ".weight")),
                         graph.constant(get(norm + ".bias")), graph.constant(get(linear + ".bias")), domain=MICROSOFT,
                         epsilon=get.epsilon)

    x = add_and_norm(mixed, name + "attention.output.dense", name + "attention.output.LayerNorm")
    wide = graph.add("MatMul", x, graph.constant(get(name + "intermediate.dense.weight").T))
    wide = graph.add("BiasGelu", wide, graph.constant(get(name + "intermediate.dense.bias")), domain=MICROSOFT)
    return add_and_norm(wide, name + "output.dense", name + "output.LayerNorm")


def _write_onnx(get, fused, path):
    graph = Graph()
    x = _embed(graph, get)
    if fused:
        mask = graph.add("Cast", "attention_mask", to=TensorProto.INT32)
    else:
        there = graph.add("Cast", graph.add("Unsqueeze", "attention_mask", graph.ints(1, 2)), to=TensorProto.FLOAT)
        missing = graph.add("Sub", graph.constant(np.float32(1)), there)
        mask = graph.add("Mul", missing, graph.constant(np.float32(-1e30)))
    for layer in range(get.layers):
        x = (_fused_layer if fused else _standard_layer)(graph, get, f"encoder.layer.{layer}.", x, mask)
    # The mean over what is there, of length 1.
    weights = graph.add("Unsqueeze", graph.add("Cast", "attention_mask", to=TensorProto.FLOAT), graph.ints(2))
    total = graph.add("ReduceSum", graph.add("Mul", x, weights), graph.ints(1), keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [total], ["vector"], axis=-1, p=2))
    batch = ["batch", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, batch) for name in ("input_ids", "attention_mask")]
    outputs = [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", get.hidden])]
    model = helper.make_model(helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants), ir_version=10,
                              opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)])
    onnx.save(model, path)


def _write_ctranslate2(get, folder):
    from ctranslate2.specs import common_spec, transformer_spec
    spec = transformer_spec.TransformerEncoderModelSpec(transformer_spec.TransformerEncoderSpec(
        get.layers, get.heads, pre_norm=False, activation=common_spec.Activation.GELU, layernorm_embedding=True,
        num_source_embeddings=2, embeddings_merge=common_spec.EmbeddingsMerge.ADD))

    def norm(to, name):
        to.gamma, to.beta = get(name + ".weight"), get(name + ".bias")

    def linear(to, *names):
        to.weight = np.concatenate([get(name + ".weight") for name in names])
        to.bias = np.concatenate([get(name + ".bias") for name in names])

    encoder = spec.encoder
    encoder.embeddings[0].weight = get("embeddings.word_embeddings.weight")
    encoder.embeddings[1].weight = get("embeddings.token_type_embeddings.weight")
    encoder.position_encodings.encodings = get("embeddings.position_embeddings.weight")
    encoder.scale_embeddings = False
    norm(encoder.layernorm_embedding, "embeddings.LayerNorm")
    for index, layer in enumerate(encoder.layer):
        name = f"encoder.layer.{index}."
        linear(layer.self_attention.linear[0], *(f"{name}attention.self.{part}" for part in ("query", "key", "value")))
        linear(layer.self_attention.linear[1], name + "attention.output.dense")
        norm(layer.self_attention.layer_norm, name + "attention.output.LayerNorm")
        linear(layer.ffn.linear_0, name + "intermediate.dense")
        linear(layer.ffn.linear_1, name + "output.dense")
        norm(layer.ffn.layer_norm, name + "output.LayerNorm")
    # It looks nothing up: ids go in.
    vocabulary = get("embeddings.word_embeddings.weight").shape[0]
    spec.register_vocabulary([f"t{i}" for i in range(vocabulary)])
    spec.config.layer_norm_epsilon = get.epsilon
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(folder)


def make(model, folder):
    """Writes what is not there yet."""
    get = Checkpoint(model)
    os.makedirs(folder, exist_ok=True)

    def missing(name):
        return not os.path.exists(os.path.join(folder, name))

    for name, fused in (("standard.onnx", False), ("fused.onnx", True)):
        if missing(name):
            _write_onnx(get, fused, os.path.join(folder, name))
    if missing("int8.onnx"):
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(os.path.join(folder, "fused.onnx"), os.path.join(folder, "int8.onnx"),
                         op_types_to_quantize=["MatMul", "Attention"], weight_type=QuantType.QInt8,
                         extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT})
    if missing("ctranslate2/model.bin"):
        os.makedirs(os.path.join(folder, "ctranslate2"), exist_ok=True)
        _write_ctranslate2(get, os.path.join(folder, "ctranslate2"))
