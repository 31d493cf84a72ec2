//! What supervision costs, beside bare tokio doing the same work in the same run.
//!
//! `cargo bench -p impresario-actors --bench supervision`. Everything runs on one thread; the two sides take turns,
//! so that a busy neighbour disturbs both; figures are medians over the turns.

use impresario_actors::supervision::{
    Actor, Answer, BackoffSettings, Child, Context, Handles, Message, Port, Root, RootSettings,
    SupervisorSettings, install_panic_hook, message, supervisor,
};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::spawn_local;

const TURNS: usize = 9;
const RESTARTS: usize = 2_000;
const ASKS: usize = 20_000;
const TELLS: u64 = 200_000;
const MAILBOX: usize = 1024;
const LONG: Duration = Duration::from_secs(60);

message!(Add { amount: u64 });
message!(Sum -> u64);
message!(Break);

struct Adder {
    sum: u64,
    broke_at: Rc<Cell<Instant>>,
}

impl Actor for Adder {
    const KIND: &'static str = "adder";
    const HANDLES: &'static [&'static str] = &[Add::NAME, Sum::NAME, Break::NAME];
}

impl Handles<Add> for Adder {
    fn handle(&mut self, add: Add, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.sum += add.amount;
        Answer::now(())
    }
}

impl Handles<Sum> for Adder {
    fn handle(&mut self, _: Sum, _: &mut Context<Self>) -> Answer<Self, u64> {
        Answer::now(self.sum)
    }
}

impl Handles<Break> for Adder {
    fn handle(&mut self, _: Break, _: &mut Context<Self>) -> Answer<Self, ()> {
        self.broke_at.set(Instant::now());
        panic!("broken on purpose")
    }
}

struct Supervised {
    add: Port<Add>,
    sum: Port<Sum>,
    stop: Port<Break>,
    broke_at: Rc<Cell<Instant>>,
    /// Dropped, it takes the tree with it.
    _root: Root,
}

async fn start_supervised() -> Supervised {
    let broke_at = Rc::new(Cell::new(Instant::now()));
    let shared = broke_at.clone();
    let child = Child::new("adder", move |_| Adder {
        sum: 0,
        broke_at: shared.clone(),
    })
    .mailbox(MAILBOX);
    let (add, sum, stop) = (child.port(), child.port(), child.port());
    let settings = SupervisorSettings {
        intensity: u32::MAX,
        period: Duration::from_millis(1),
        backoff: BackoffSettings {
            first: Duration::ZERO,
            ..BackoffSettings::default()
        },
        ..SupervisorSettings::default()
    };
    let root = supervisor("root", settings, vec![child.spec()]);
    let root = Root::start_local(root, RootSettings::default()).await;
    Supervised {
        add,
        sum,
        stop,
        broke_at,
        _root: root,
    }
}

enum Order {
    Add(u64),
    Sum(oneshot::Sender<u64>),
    Break,
}

type Orders = Arc<Mutex<mpsc::Receiver<Order>>>;

/// The bare actor: a task over a bounded channel, started again by a loop when it panics.
async fn run_bare(orders: Orders, broke_at: Rc<Cell<Instant>>) {
    let mut orders = orders.lock().await;
    let mut sum = 0;
    while let Some(order) = orders.recv().await {
        match order {
            Order::Add(amount) => sum += amount,
            Order::Sum(reply) => drop(reply.send(sum)),
            Order::Break => {
                broke_at.set(Instant::now());
                panic!("broken on purpose")
            }
        }
    }
}

struct Bare {
    orders: mpsc::Sender<Order>,
    broke_at: Rc<Cell<Instant>>,
}

fn start_bare() -> Bare {
    let (orders, receiver) = mpsc::channel(MAILBOX);
    let receiver = Arc::new(Mutex::new(receiver));
    let broke_at = Rc::new(Cell::new(Instant::now()));
    let shared = broke_at.clone();
    spawn_local(async move {
        while spawn_local(run_bare(receiver.clone(), shared.clone()))
            .await
            .is_err()
        {}
    });
    Bare { orders, broke_at }
}

impl Bare {
    async fn sum(&self) -> u64 {
        let (reply, answer) = oneshot::channel();
        let sent = self.orders.send(Order::Sum(reply)).await;
        assert!(sent.is_ok());
        answer.await.expect("the bare actor answers")
    }
}

/// From the panic to the first answer of the next life, in nanoseconds.
async fn measure_restarts<F: Future<Output = u64>>(
    broke_at: &Cell<Instant>,
    break_it: impl Fn(),
    sum: impl Fn() -> F,
) -> Vec<f64> {
    let mut samples = Vec::with_capacity(RESTARTS);
    for _ in 0..RESTARTS {
        break_it();
        assert_eq!(sum().await, 0, "a fresh life");
        samples.push(broke_at.get().elapsed().as_nanos() as f64);
    }
    samples
}

async fn measure_asks<F: Future<Output = u64>>(expected: u64, sum: impl Fn() -> F) -> Vec<f64> {
    let mut samples = Vec::with_capacity(ASKS);
    for _ in 0..ASKS {
        let begun = Instant::now();
        assert_eq!(sum().await, expected);
        samples.push(begun.elapsed().as_nanos() as f64);
    }
    samples
}

async fn measure_supervised_tells() -> f64 {
    let adder = start_supervised().await;
    let begun = Instant::now();
    for _ in 0..TELLS {
        let mut add = Add { amount: 1 };
        while let Err(refused) = adder.add.tell(add) {
            add = match refused {
                impresario_actors::supervision::TellError::Busy(add) => add,
                down => panic!("{down}"),
            };
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(adder.sum.ask(Sum, LONG).await.expect("an answer"), TELLS);
    TELLS as f64 / begun.elapsed().as_secs_f64()
}

async fn measure_bare_tells() -> f64 {
    let bare = start_bare();
    let begun = Instant::now();
    for _ in 0..TELLS {
        assert!(bare.orders.send(Order::Add(1)).await.is_ok());
    }
    assert_eq!(bare.sum().await, TELLS);
    TELLS as f64 / begun.elapsed().as_secs_f64()
}

fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[((samples.len() - 1) as f64 * share) as usize]
}

/// Medians over the turns, of the supervised and of the bare side.
#[derive(Default)]
struct Comparison {
    ours: Vec<f64>,
    bare: Vec<f64>,
}

impl Comparison {
    fn ratio(&mut self) -> (f64, f64, f64) {
        let (ours, bare) = (percentile(&mut self.ours, 0.5), percentile(&mut self.bare, 0.5));
        (ours, bare, ours / bare)
    }
}

async fn measure() {
    let [mut restart, mut restart_p99, mut tell, mut ask, mut ask_p99] =
        [(); 5].map(|()| Comparison::default());
    for _ in 0..TURNS {
        let adder = start_supervised().await;
        let break_it = || assert!(adder.stop.tell(Break).is_ok());
        let sum = || async { adder.sum.ask(Sum, LONG).await.expect("an answer") };
        let mut samples = measure_restarts(&adder.broke_at, break_it, sum).await;
        restart.ours.push(percentile(&mut samples, 0.5));
        restart_p99.ours.push(percentile(&mut samples, 0.99));

        let bare = start_bare();
        let break_it = || assert!(bare.orders.try_send(Order::Break).is_ok());
        let mut samples = measure_restarts(&bare.broke_at, break_it, || bare.sum()).await;
        restart.bare.push(percentile(&mut samples, 0.5));
        restart_p99.bare.push(percentile(&mut samples, 0.99));

        let mut samples = measure_asks(0, sum).await;
        ask.ours.push(percentile(&mut samples, 0.5));
        ask_p99.ours.push(percentile(&mut samples, 0.99));
        let mut samples = measure_asks(0, || bare.sum()).await;
        ask.bare.push(percentile(&mut samples, 0.5));
        ask_p99.bare.push(percentile(&mut samples, 0.99));

        tell.ours.push(measure_supervised_tells().await);
        tell.bare.push(measure_bare_tells().await);
    }
    println!("| | supervised | bare tokio | ratio | target |\n|---|---|---|---|---|");
    for (name, comparison, target) in [
        ("panic to next answer, p50", &mut restart, "≤ 2.5"),
        ("panic to next answer, p99", &mut restart_p99, ""),
        ("ask, p50", &mut ask, "≤ 2.5"),
        ("ask, p99", &mut ask_p99, ""),
    ] {
        let (ours, bare, ratio) = comparison.ratio();
        println!(
            "| {name} | {:.2} µs | {:.2} µs | {ratio:.2} | {target} |",
            ours / 1e3,
            bare / 1e3
        );
    }
    let (ours, bare, ratio) = tell.ratio();
    println!(
        "| tell | {:.2} M/s | {:.2} M/s | {ratio:.2} | ≥ 0.3 |",
        ours / 1e6,
        bare / 1e6
    );
}

fn main() {
    // The bare side's panics are silent too: printing would make it thirty times slower.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("broken on purpose") {
            print(panic);
        }
    }));
    install_panic_hook();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, measure());
}
