// Prometheus' text format, as far as the gateway writes it, and what the page makes of two readings.

// Name -> list of {labels, value}.
export function parse(text) {
  const series = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (match === null) continue;
    const labels = {};
    for (const [, name, value] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    if (!series.has(match[1])) series.set(match[1], []);
    series.get(match[1]).push({ labels, value: number(match[3]) });
  }
  return series;
}

function number(text) {
  return text === "+Inf" ? Infinity : Number(text);
}

// Undefined where there is no such series: the queue of a server elsewhere is not seen here.
function sum(series, name) {
  return series.get(name)?.reduce((all, { value }) => all + value, 0);
}

function buckets(series, name) {
  return (series.get(`${name}_bucket`) ?? []).map(({ labels, value }) => ({ end: number(labels.le), count: value }));
}

// Between its bounds a bucket's observations are taken as evenly spread, as Prometheus does it.
export function quantile(q, counted) {
  const all = counted.at(-1)?.count ?? 0;
  if (all === 0) return undefined;
  const rank = q * all;
  const at = counted.findIndex(({ count }) => count >= rank);
  const begin = at === 0 ? 0 : counted[at - 1].end;
  if (counted[at].end === Infinity) return begin;
  const before = at === 0 ? 0 : counted[at - 1].count;
  return begin + (counted[at].end - begin) * (rank - before) / (counted[at].count - before);
}

// What is waiting and under way: in the queue of this process, or at servers elsewhere.
function queue(series) {
  const replicas = series.get("trellis_replica_up");
  if (replicas === undefined) return { tokens: sum(series, "trellis_queue_tokens"), inputs: sum(series, "trellis_queue_depth") };
  return {
    tokens: sum(series, "trellis_replica_outstanding"),
    servers: { up: replicas.filter(({ value }) => value === 1).length, all: replicas.length },
  };
}

// `before` is the reading before this one, or undefined. Of times only what ended between both counts.
export function reading(text, before) {
  const series = parse(text);
  const now = {
    time: performance.now(),
    ended: sum(series, "te_request_duration_count") ?? 0,
    counted: buckets(series, "te_request_duration"),
    overloaded: (series.get("te_request_failure") ?? []).find(({ labels }) => labels.err === "overloaded")?.value ?? 0,
    underWay: sum(series, "trellis_inflight_requests"),
    queue: queue(series),
  };
  // Counts that went down are those of a program that was started anew.
  if (before === undefined || now.ended < before.ended || now.counted.length !== before.counted.length) return now;
  const counted = now.counted.map(({ end, count }, i) => ({ end, count: count - before.counted[i].count }));
  now.rate = (now.ended - before.ended) * 1000 / (now.time - before.time);
  now.refused = now.overloaded - before.overloaded;
  now.half = quantile(0.5, counted);
  now.most = quantile(0.99, counted);
  return now;
}
