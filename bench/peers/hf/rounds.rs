//! The timing protocol of `trellis-bench`, for peers written in Rust. One thread, no special tokens added; the
//! caller pins the process. `../sentencepiece/rounds.h` and `../python/wheel_peer.py` follow the same protocol.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What the process allocates. The count is not read-modify-write: one thread is measured, and a locked add for each
/// of the ten thousand allocations of an encode would be charged to the peer.
struct CountingAllocator;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count_one() {
    ALLOCATIONS.store(ALLOCATIONS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        System.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        System.realloc(memory, layout, size)
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout)
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What a peer does with one text: `encode` is timed, `ids` is the result of the last one.
pub trait Encoder {
    fn encode(&mut self, text: &str);
    fn ids(&self) -> &[u32];
}

const FRESH_PASSES: usize = 9;
const WARM_UP_SECONDS: f64 = 0.05;
const MEASURED_SECONDS: f64 = 0.25;
const SAMPLES: std::ops::RangeInclusive<usize> = 31..=20_000;
/// Calls shorter than so many readings of the clock are timed several at once.
const CLOCK_COSTS: f64 = 20.0;

struct Label {
    name: String,
    texts: Vec<String>,
}

/// One label's samples, and `total`: the time of all its texts once.
#[derive(Default)]
struct Measured {
    microseconds: Vec<f64>,
    total: f64,
    tokens: usize,
    allocations: f64,
}

pub fn run<E: Encoder>(load: impl Fn(&str) -> E) {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(asked) = parse(&arguments) else {
        eprintln!(
            "usage: {} MODEL TEXTS.json --mode repeated|fresh|once|ids [--iterations N]\n\
             TEXTS.json is [[label, text], ...]; `ids` prints the ids of one text a line; with --iterations, \
             `repeated` encodes each text N times and prints nothing",
            arguments[0]
        );
        std::process::exit(2);
    };
    let labels = read_texts(&asked.texts);
    let mut encoder = load(&asked.model);
    match (asked.mode.as_str(), asked.iterations) {
        ("ids", _) => print_ids(&mut encoder, &labels),
        ("repeated", Some(iterations)) => {
            for text in labels.iter().flat_map(|label| &label.texts) {
                (0..iterations).for_each(|_| encoder.encode(black_box(text)));
            }
        }
        ("repeated", None) => {
            for label in &labels {
                report(label, &repeated(&mut encoder, label));
            }
        }
        (passes, _) => {
            let passes = if passes == "once" { 1 } else { FRESH_PASSES };
            for (label, measured) in labels.iter().zip(fresh(&mut encoder, &labels, passes)) {
                report(label, &measured);
            }
        }
    }
}

struct Asked {
    model: String,
    texts: String,
    mode: String,
    iterations: Option<usize>,
}

fn parse(arguments: &[String]) -> Option<Asked> {
    let [_, model, texts, flag, mode, rest @ ..] = arguments else { return None };
    let iterations = match rest {
        [] => None,
        [flag, count] if flag == "--iterations" && mode == "repeated" => Some(count.parse().ok()?),
        _ => return None,
    };
    let known = flag == "--mode" && ["repeated", "fresh", "once", "ids"].contains(&mode.as_str());
    known.then(|| Asked { model: model.clone(), texts: texts.clone(), mode: mode.clone(), iterations })
}

/// Labels in the order of their first text.
fn read_texts(path: &str) -> Vec<Label> {
    let json = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let pairs: Vec<(String, String)> =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut labels: Vec<Label> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for (name, text) in pairs {
        let at = *index.entry(name.clone()).or_insert(labels.len());
        if at == labels.len() {
            labels.push(Label { name, texts: Vec::new() });
        }
        labels[at].texts.push(text);
    }
    labels
}

fn print_ids<E: Encoder>(encoder: &mut E, labels: &[Label]) {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for text in labels.iter().flat_map(|label| &label.texts) {
        encoder.encode(text);
        let line: Vec<String> = encoder.ids().iter().map(u32::to_string).collect();
        writeln!(out, "{}", line.join(" ")).expect("standard output takes the ids");
    }
}

/// Microseconds between two readings of the clock with nothing between them; taken off every sample.
fn clock_cost() -> f64 {
    let read = |_| Instant::now().elapsed().as_secs_f64() * 1e6;
    (0..10_000).map(read).filter(|cost| *cost > 0.0).fold(f64::MAX, f64::min)
}

/// Microseconds of one call; of `calls` calls timed together, the mean.
fn time<E: Encoder>(encoder: &mut E, text: &str, calls: usize, clock_cost: f64) -> f64 {
    let begin = Instant::now();
    for _ in 0..calls {
        encoder.encode(black_box(text));
        black_box(&*encoder);
    }
    (begin.elapsed().as_secs_f64() * 1e6 - clock_cost).max(0.0) / calls as f64
}

/// Each text alone in a loop, after a warm-up that also sizes the loop.
fn repeated<E: Encoder>(encoder: &mut E, label: &Label) -> Measured {
    let clock = clock_cost();
    let mut measured = Measured::default();
    for text in &label.texts {
        let (mut calls, begin) = (0, Instant::now());
        while calls < 3 || begin.elapsed().as_secs_f64() < WARM_UP_SECONDS {
            time(encoder, text, 1, clock);
            calls += 1;
        }
        let each = begin.elapsed().as_secs_f64() / calls as f64;
        let together = (CLOCK_COSTS * clock / (each * 1e6)).ceil().max(1.0) as usize;
        let samples = ((MEASURED_SECONDS / each) as usize / together).clamp(*SAMPLES.start(), *SAMPLES.end());
        let mut times: Vec<f64> = Vec::with_capacity(samples);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..samples {
            times.push(time(encoder, text, together, clock));
        }
        let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
        measured.allocations += allocated as f64 / (samples * together) as f64 / label.texts.len() as f64;
        measured.tokens += encoder.ids().len();
        times.sort_by(f64::total_cmp);
        measured.total += percentile(&times, 50);
        measured.microseconds.extend(times);
    }
    measured
}

/// Labels interleaved round-robin over their texts, every text once a pass; of each label the median pass.
fn fresh<E: Encoder>(encoder: &mut E, labels: &[Label], passes: usize) -> Vec<Measured> {
    let clock = clock_cost();
    let longest = labels.iter().map(|label| label.texts.len()).max().unwrap_or(0);
    let mut all_passes: Vec<Vec<Measured>> = labels.iter().map(|_| Vec::new()).collect();
    for _ in 0..passes {
        for (label, of_label) in labels.iter().zip(&mut all_passes) {
            let microseconds = Vec::with_capacity(label.texts.len());
            of_label.push(Measured { microseconds, ..Measured::default() });
        }
        for turn in 0..longest {
            for (label, of_label) in labels.iter().zip(&mut all_passes) {
                let Some(text) = label.texts.get(turn) else { continue };
                let pass = of_label.last_mut().expect("a pass was begun");
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                let spent = time(encoder, text, 1, clock);
                let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
                pass.microseconds.push(spent);
                pass.total += spent;
                pass.allocations += allocated as f64 / label.texts.len() as f64;
                pass.tokens += encoder.ids().len();
            }
        }
    }
    all_passes
        .into_iter()
        .map(|mut of_label| {
            of_label.sort_by(|a, b| a.total.total_cmp(&b.total));
            of_label.swap_remove(of_label.len() / 2)
        })
        .collect()
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn report(label: &Label, measured: &Measured) {
    let mut sorted = measured.microseconds.clone();
    sorted.sort_by(f64::total_cmp);
    let bytes: usize = label.texts.iter().map(String::len).sum();
    println!(
        "{{\"label\":{},\"texts\":{},\"tokens\":{},\"bytes\":{},\"p50_us\":{:.4},\"p99_us\":{:.4},\
         \"us_per_512_tokens\":{:.4},\"allocations\":{:.1}}}",
        serde_json::Value::from(label.name.clone()),
        label.texts.len(),
        measured.tokens,
        bytes,
        percentile(&sorted, 50),
        percentile(&sorted, 99),
        measured.total * 512.0 / measured.tokens.max(1) as f64,
        measured.allocations
    );
}
