//! Rows, and how long one call takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// A sample goes on for about so long, so that the clock itself does not count.
const SAMPLE: Duration = Duration::from_millis(2);

/// Something that is measured.
pub struct Row<'a> {
    /// What Node calls it too.
    pub name: &'static str,
    /// Calls it so often and says how long that took.
    time: Box<dyn Fn(usize) -> Duration + 'a>,
    /// What it gives, in words.
    pub show: Box<dyn Fn() -> String + 'a>,
}

impl<'a> Row<'a> {
    /// `run` is measured; `show` says what it gave.
    pub fn new<T>(
        name: &'static str,
        run: impl Fn() -> T + Clone + 'a,
        show: impl Fn(T) -> String + 'a,
    ) -> Self {
        let once = run.clone();
        let time = move |calls: usize| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(run());
            }
            start.elapsed()
        };
        Self {
            name,
            time: Box::new(time),
            show: Box::new(move || show(once())),
        }
    }

    /// How many calls make a sample.
    pub fn calls_a_sample(&self) -> usize {
        let mut calls = 1;
        while (self.time)(calls) < SAMPLE {
            calls *= 2;
        }
        calls
    }

    /// The microseconds that one call took.
    pub fn sample(&self, calls: usize) -> f64 {
        (self.time)(calls).as_secs_f64() * 1e6 / calls as f64
    }
}

/// The median of so many samples.
pub fn median_micros(row: &Row<'_>, samples: usize) -> f64 {
    let calls = row.calls_a_sample();
    median((0..samples).map(|_| row.sample(calls)).collect())
}

/// The one in the middle.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
