"""Draws times of requests as SVG, in bench/plot's style: panels of columns, each with its quantiles as dots."""
import importlib.machinery
import importlib.util
import os

QUANTILES = ("p50_ms", "p90_ms", "p99_ms", "max_ms")


def _bench_plot():
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plot")
    loader = importlib.machinery.SourceFileLoader("bench_plot", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_plot", loader))
    loader.exec_module(module)
    return module


def draw(panels, head):
    """panels: [(title, rows)], a row having `label`, perhaps `per_second`, and QUANTILES; on a scale of factors each."""
    plot = _bench_plot()
    drawing, top = plot.Drawing(), plot.TOP
    drawing.text(plot.LEFT, 20, head, "start", 14)
    for place, name in enumerate(QUANTILES):
        drawing.dot(plot.LEFT + 6 + place * 100, 34, plot.COLOURS[place], name)
        drawing.text(plot.LEFT + 16 + place * 100, 38, name[:-3], "start")
    for title, rows in panels:
        at = plot.vertical(drawing, [row[name] for row in rows for name in QUANTILES], top, "ms a request")
        drawing.text(plot.LEFT, top - 10, title, "start", 13)
        step = (plot.WIDTH - plot.LEFT - plot.RIGHT) / len(rows)
        for column, row in enumerate(rows):
            x = plot.LEFT + (column + 0.5) * step
            drawing.text(x, top + plot.PANEL + 16, row["label"])
            if "per_second" in row:
                drawing.text(x, top + plot.PANEL + 31, f"{row['per_second']:g}/s")
            for place, name in enumerate(QUANTILES):
                drawing.dot(x + (place - 1.5) * 14, at(row[name]), plot.COLOURS[place], f"{name[:-3]}: {row[name]} ms")
        top += plot.PANEL + plot.GAP
    body = "\n".join(drawing.parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{plot.WIDTH}" height="{top}" viewBox="0 0 {plot.WIDTH} {top}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')
