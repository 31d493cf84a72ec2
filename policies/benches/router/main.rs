//! How fast the router's policies are, beside plain JavaScript implementations of the same rules.
//!
//! Both compute on the same inputs and take turns in the same run, and their results must be equal. A row is the median
//! of the samples of either, and its target is to be three times as fast as Node. Where Node is missing, ours stand
//! alone. At the end, what is quadratic in the peer is measured at n, 2n and 4n. Words given after `--` choose rows.

mod inputs;
mod measure;
mod node;
mod rows;

use inputs::Inputs;
use measure::{Row, median_micros};
use node::Node;
use std::process::ExitCode;

const SAMPLES: usize = 21;
const RATIO_MIN: f64 = 3.0;
/// From n to 4n, linear work takes four times as long; quadratic work sixteen times.
const GROWTH_MAX: f64 = 8.0;

fn main() -> ExitCode {
    let inputs = Inputs::new();
    let mut node = Node::start(&inputs.to_json());
    if node.is_none() {
        println!("Node was not found: there is nothing to compare with");
    }
    println!(
        "{:<34} {:>11} {:>11} {:>8}",
        "row, p50", "ours µs", "node µs", "ratio"
    );
    let mut is_kept = true;
    for row in rows::compared(&inputs).iter().filter(|row| is_chosen(row.name)) {
        is_kept &= compare(row, node.as_mut());
    }
    println!("{:<34} {:>11} {:>11} {:>8}", "growth, p50 in µs", "n", "2n", "4n");
    for (name, sizes) in rows::growing(&inputs).iter().filter(|(name, _)| is_chosen(name)) {
        is_kept &= grow(name, sizes);
    }
    match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn is_chosen(name: &str) -> bool {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word))
}

fn compare(row: &Row<'_>, node: Option<&mut Node>) -> bool {
    let Some(node) = node else {
        println!("{:<34} {:>11.3}", row.name, median_micros(row, SAMPLES));
        return true;
    };
    assert_eq!(
        node.show(row.name),
        (row.show)(),
        "{}: the results differ",
        row.name
    );
    let calls = row.calls_a_sample();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        ours.push(row.sample(calls));
        theirs.push(node.sample(row.name));
    }
    let (ours, theirs) = (measure::median(ours), measure::median(theirs));
    let ratio = theirs / ours;
    println!(
        "{:<34} {ours:>11.3} {theirs:>11.3} {ratio:>7.1}x  {}",
        row.name,
        word(ratio >= RATIO_MIN)
    );
    ratio >= RATIO_MIN
}

fn grow(name: &str, sizes: &[Row<'_>]) -> bool {
    let times: Vec<f64> = sizes.iter().map(|row| median_micros(row, SAMPLES)).collect();
    let growth = times[2] / times[0];
    println!(
        "{name:<34} {:>11.2} {:>11.2} {:>8.2}  {growth:.1}x for 4x: {}",
        times[0],
        times[1],
        times[2],
        word(growth <= GROWTH_MAX)
    );
    growth <= GROWTH_MAX
}

fn word(is_kept: bool) -> &'static str {
    if is_kept { "kept" } else { "MISSED" }
}
