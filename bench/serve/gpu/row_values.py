"""Values of rows in files, as trellis-gpu-check --values-to writes them, and how far two of them are from each other."""
import numpy


def write(tasks, path):
    """{task: [values of a row]} into the file; returns the lines that say what is in it."""
    lines = []
    with open(path, "wb") as out:
        for task, rows in tasks.items():
            counts = []
            for row in rows:
                for part in row if task == "sparse" else (row,):
                    out.write(part.tobytes())
                counts.append(len(row[0] if task == "sparse" else row))
            lines.append({"part": "values", "task": task, "counts": counts})
    return lines


def read(path, lines):
    """What write wrote: sparse rows as (weights, ids)."""
    with open(path, "rb") as file:
        content = file.read()
    at, tasks = 0, {}
    for line in lines:
        rows = tasks.setdefault(line["task"], [])
        for count in line["counts"]:
            values = numpy.frombuffer(content, "<f4", count, at)
            at += 4 * count
            if line["task"] == "sparse":
                values = values, numpy.frombuffer(content, "<i4", count, at)
                at += 4 * count
            rows.append(values)
    if at != len(content):
        raise ValueError(f"{path}: {len(content)} bytes, expected {at}")
    return tasks


def distances(ours, theirs):
    """1 - cosine of each pair of rows of two matrices. What is no number is as far as can be."""
    a, b = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        cosines = (a * b).sum(1) / (numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1))
    return 1 - numpy.nan_to_num(cosines, nan=-1, posinf=-1, neginf=-1)


def _sparse_distance(ours, theirs, ids):
    vectors = numpy.zeros((2, ids))
    for vector, (weights, tokens) in zip(vectors, (ours, theirs)):
        vector[tokens] = weights
    if not vectors.any():
        return 0.0
    return float(distances(vectors[:1], vectors[1:])[0])


def compare(ours, theirs, rows, hidden):
    """{task: {"worst", "mean"}} of cosine distances: of a row's vector, of each token's, of a row's sparse weights."""
    found = {}
    for task, expected in theirs.items():
        if task not in ours or len(ours[task]) != len(expected):
            raise ValueError(f"{task}: {len(ours.get(task, []))} rows, expected {len(expected)}")
        if task == "sparse":
            ids = 1 + max(map(max, rows))
            each = numpy.array([_sparse_distance(*pair, ids) for pair in zip(ours[task], expected)])
        else:
            each = distances(*(numpy.concatenate(values).reshape(-1, hidden) for values in (ours[task], expected)))
        found[task] = {"worst": float(each.max()), "mean": float(each.mean())}
    return found
