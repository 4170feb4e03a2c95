"""Our values and torch's, judged by cosine distance to those in float32."""
import row_values


def _apart(tokens, rows, hidden):
    """The mean distance of a token's vector from the next one's, of the longest row."""
    vectors = tokens[max(range(len(rows)), key=lambda i: len(rows[i]))].reshape(-1, hidden)
    return float(row_values.distances(vectors[:-1], vectors[1:]).mean())


def judge(files, rows, hidden):
    """`files`: {"ours", "float32", "bfloat16": (path, lines)}. ValueError: somebody's values are not all there."""
    values = {}
    for name, (path, lines) in files.items():
        if not lines:
            raise ValueError(f"{name}: no values were written")
        values[name] = row_values.read(path, lines)
    truth = values["float32"]
    return {"rows": len(rows), "tokens": sum(map(len, rows)), "apart": _apart(truth["embed_all"], rows, hidden),
            "ours": row_values.compare(values["ours"], truth, rows, hidden),
            "torch": row_values.compare(values["bfloat16"], truth, rows, hidden)}
