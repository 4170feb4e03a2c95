"""What is checked: models of the shapes that people run, with random weights; rows of token ids; what is timed with them."""
import dataclasses
import random

BEGIN, END = 0, 2  # <s> and </s> of the XLM-R vocabulary; ids from 5 on are words


@dataclasses.dataclass(frozen=True)
class Shape:
    name: str
    family: str  # "bert" or "xlm-roberta"
    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocab: int
    positions: int  # rows of the position table; xlm-roberta's first two belong to no token
    pooling: str  # "mean" or "cls"
    more_heads: bool = False  # bge-m3's: sparse and ColBERT

    @property
    def longest(self):
        return self.positions - (2 if self.family == "xlm-roberta" else 0)


REAL = [Shape("e5-small", "bert", 384, 12, 12, 1536, 250037, 512, "mean"),
        Shape("e5-base", "xlm-roberta", 768, 12, 12, 3072, 250002, 514, "mean"),
        Shape("bge-m3", "xlm-roberta", 1024, 24, 16, 4096, 250002, 8194, "cls", True)]
# The same head sizes, 32 and 64, so that the same attention kernel is run; as little of the rest as can be.
TINY = [Shape("tiny-e5", "bert", 64, 2, 2, 96, 300, 64, "mean"),
        Shape("tiny-m3", "xlm-roberta", 64, 1, 1, 96, 300, 66, "cls", True)]


@dataclasses.dataclass(frozen=True)
class Plan:
    """ROWSxTOKENS are the names of batches, and what they hold."""
    latency: list
    throughput: list
    buckets: list  # ROWSxTOKENS, where the tokens are all of them together
    values: list  # lengths of the rows whose values are compared
    max_batch_tokens: int
    max_batch_rows: int
    bucket_runs: int
    seconds: float  # for each batch
    least_runs: int


def plan_of(shape, tiny):
    if tiny:
        return Plan(["1x8", "1x32", "3x16"], ["6x16"], ["1x64", "4x64", "4x128"], [1, 2, 3, 15, 16, 17, 33, 48], 128, 16, 1, 0, 2)
    long = shape.longest >= 4096
    # A row of 4,096 tokens where the model takes one, else as many tokens in rows that it takes.
    latency = ["1x128", "1x512", "1x4096" if long else "8x512", "5x512", "25x512", "50x512"]
    throughput = ["100x512", "100x1024", "100x4096"] if long else ["100x512"]
    buckets = ["1x64", "1x128", "1x256", "1x512", "4x1024", "16x512", "16x2048", "16x4096", "64x8192", "64x16384"]
    values = [1, 2, 3, 7, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 400, 511, 512]
    if long:
        buckets += ["1x4096", "1x8192"]
        values += [513, 1000, 1024, 2049, 4096, 8192]
    return Plan(latency, throughput, buckets, values, 16384, 2048, 20, 0.6, 3)


def left_out(shape, tiny):
    """Published scenarios that a model has not, and why."""
    if tiny or shape.longest >= 4096:
        return []
    why = f"the model takes at most {shape.longest} tokens a row"
    return [{"what": f"latency 1x4096 (8x512 in its place)", "why": why},
            *({"what": f"throughput {name}", "why": why} for name in ("100x1024", "100x4096"))]


def batches_of(shape, plan):
    """{name: rows}: the same for every engine. Every other row of those compared has few different ids, for sparse weights."""
    chance = random.Random(1)

    def row(length, ids):
        inner = [chance.randrange(5, ids) for _ in range(length)]
        return ([BEGIN] + inner)[:length - 1] + [END] if length > 1 else inner
    batches = {"values": [row(length, shape.vocab if i % 2 else 40) for i, length in enumerate(plan.values)]}
    for name in plan.latency + plan.throughput:
        rows, tokens = map(int, name.split("x"))
        batches[name] = [row(tokens, shape.vocab) for _ in range(rows)]
    return batches


def steps_of(rows, plan):
    """A batch in the steps that ours takes it in, so that nobody has to hold more at a time."""
    steps = []
    for row in rows:
        if not steps or len(steps[-1]) >= plan.max_batch_rows or sum(map(len, steps[-1])) + len(row) > plan.max_batch_tokens:
            steps.append([])
        steps[-1].append(row)
    return steps


def named(names, tiny):
    """All shapes, or those of a list with commas."""
    known = TINY if tiny else REAL
    wanted = names.split(",") if names else [shape.name for shape in known]
    if unknown := [name for name in wanted if name not in [shape.name for shape in known]]:
        raise SystemExit(f"no model {', '.join(unknown)}, expected some of {', '.join(shape.name for shape in known)}")
    return [shape for shape in known if shape.name in wanted]
