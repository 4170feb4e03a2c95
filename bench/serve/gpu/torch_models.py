"""Models of a shape in torch and transformers: made with random weights, saved as people save them, and computed."""
import json
import os

import numpy
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

SPECIALS = 4  # <s>, <pad>, </s> and <unk> have no sparse weight, as FlagEmbedding has it


def _classes(shape):
    return (BertConfig, BertModel) if shape.family == "bert" else (XLMRobertaConfig, XLMRobertaModel)


def _randomize(module):
    """Attention that looks at something, and branches small enough that tokens stay apart over 24 layers: with larger ones all
    rows would come to one vector, and no fault could be seen in it. Nothing is 0 or 1."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "LayerNorm.weight" in name:
                parameter.normal_(1, 0.1)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.02)
            elif "embeddings" in name:
                parameter.normal_(0, 0.5)
            else:
                parameter.normal_(0, (0.2 if ".output.dense" in name else 1) / parameter.shape[-1] ** 0.5)


def make(shape, folder, device, seed=1):
    """Saves the model in float32, with what sentence-transformers and bge-m3's authors put beside it."""
    config_class, model_class = _classes(shape)
    config = config_class(
        vocab_size=shape.vocab, hidden_size=shape.hidden, num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
        intermediate_size=shape.intermediate, max_position_embeddings=shape.positions,
        type_vocab_size=2 if shape.family == "bert" else 1, layer_norm_eps=1e-12 if shape.family == "bert" else 1e-5)
    torch.manual_seed(seed)
    with torch.device(device):
        model = model_class(config, add_pooling_layer=False)
        _randomize(model)
        model.eval().save_pretrained(folder)
        for head, out in (("sparse_linear", 1), ("colbert_linear", shape.hidden)) if shape.more_heads else ():
            layer = torch.nn.Linear(shape.hidden, out)
            _randomize(layer)
            save_file({name: value.detach().cpu() for name, value in layer.state_dict().items()},
                      os.path.join(folder, head + ".safetensors"))
    package = "sentence_transformers.models."
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    _write(folder, "modules.json", [{"idx": i, "name": str(i), "path": path, "type": package + kind}
                                    for i, (kind, path) in enumerate(modules)])
    _write(folder, "1_Pooling/config.json", {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": shape.pooling == "mean",
                                             "pooling_mode_cls_token": shape.pooling == "cls"})
    _write(folder, "sentence_bert_config.json", {"max_seq_length": shape.longest, "do_lower_case": False})


def _write(folder, name, value):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


class TorchModel:
    def __init__(self, shape, folder, device, dtype, attention):
        self.shape, self.device = shape, device
        model = _classes(shape)[1].from_pretrained(folder, dtype=dtype, attn_implementation=attention, add_pooling_layer=False)
        self.model = model.to(device).eval()
        self.heads = {}
        if shape.more_heads:
            for name in ("sparse", "colbert"):
                weights = load_file(os.path.join(folder, name + "_linear.safetensors"))
                self.heads[name] = {key: value.to(device, dtype) for key, value in weights.items()}

    def vectors(self, ids):
        """One of length 1 for each row of [rows, tokens]. Without padding there is no mask, which is the faster way."""
        states = self.model(input_ids=ids).last_hidden_state
        pooled = states[:, 0] if self.shape.pooling == "cls" else states.mean(1)
        return torch.nn.functional.normalize(pooled.float(), dim=-1)

    def values(self, rows):
        """{task: [values of a row]}, each row by itself; sparse: (weights, ids)."""
        tasks = {"embed": [], "embed_all": [], **({"sparse": []} if self.heads else {})}
        for row in rows:
            ids = torch.tensor([row], device=self.device)
            states = self.model(input_ids=ids).last_hidden_state[0]
            pooled = states[0] if self.shape.pooling == "cls" else states.mean(0)
            tokens = states
            if self.heads:
                tokens = torch.nn.functional.linear(states, self.heads["colbert"]["weight"], self.heads["colbert"]["bias"])
                tasks["sparse"].append(self._sparse(row, states))
            tasks["embed"].append(_of_length_1(pooled))
            tasks["embed_all"].append(_of_length_1(tokens))
        return tasks

    def _sparse(self, row, states):
        head = self.heads["sparse"]
        weights = torch.relu(torch.nn.functional.linear(states, head["weight"], head["bias"]))[:, 0].float().tolist()
        most = {}
        for token, weight in zip(row, weights):
            if token >= SPECIALS and weight > 0:
                most[token] = max(most.get(token, weight), weight)
        ids = sorted(most)
        return numpy.array([most[i] for i in ids], numpy.float32), numpy.array(ids, numpy.int32)


def _of_length_1(vectors):
    return torch.nn.functional.normalize(vectors.float(), dim=-1).cpu().numpy().reshape(-1)
