//! The actors that appear in the tests, and what is written down of them.

use crate::supervision::*;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

pub const SOON: Duration = Duration::from_secs(30);

/// Runs a story on one thread with a paused clock.
pub fn tell_story(story: impl Future<Output = ()>) {
    install_panic_hook();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, story);
}

pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub async fn pass(count: u64) {
    tokio::time::sleep(ms(count)).await;
}

/// What happened, line by line.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub fn write(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }

    pub fn observer(&self) -> Option<Observer> {
        let log = self.clone();
        Some(Rc::new(move |event| log.write(short(event))))
    }
}

fn short(event: &Event) -> String {
    match event {
        Event::Up { child, incarnation } => format!("up {child}#{incarnation}"),
        Event::Exited {
            child,
            incarnation,
            exit: Exit::Panicked { message, .. },
        } => {
            format!("exit {child}#{incarnation} panicked {message}")
        }
        Event::Exited {
            child,
            incarnation,
            exit,
        } => format!("exit {child}#{incarnation} {exit}"),
        Event::RestartIn { child, group, delay } => {
            format!("restart {child} group={group} in {}", delay.as_millis())
        }
        Event::Escalated {
            supervisor, child, ..
        } => format!("escalated {supervisor} over {child}"),
        Event::Stopping { child } => format!("stopping {child}"),
        Event::DeadLetters {
            child,
            message,
            count,
            ..
        } => format!("dead {child} {count} {message}"),
    }
}

message!(pub Count -> (u64, u32));
message!(#[derive(Clone, Debug)] pub Boom);
message!(pub Fail);
message!(pub Quit);
message!(#[derive(Clone, Debug, PartialEq)] pub Jot { number: u32 });
message!(#[derive(Clone, Debug)] pub Slow { millis: u64, then_panic: bool } -> u32);
message!(pub Work { then: Box<dyn FnOnce(&mut Worker, &mut Context<Worker>)> });

/// Counts, jots down, breaks on request. Its state is not `Send`, on purpose.
pub struct Worker {
    pub counted: u32,
    pub log: Log,
    /// How long it takes to go.
    pub slow_goodbye: Duration,
    /// Whom it asks on leaving.
    pub last_words: Option<Port<Count>>,
}

impl Actor for Worker {
    const KIND: &'static str = "worker";
    const HANDLES: &'static [&'static str] = &["Count", "Boom", "Fail", "Quit", "Jot", "Slow", "Work"];

    fn stopping(&mut self, ctx: &mut Context<Self>) {
        self.log
            .write(format!("goodbye {}#{}", ctx.name(), ctx.incarnation()));
        if !self.slow_goodbye.is_zero() {
            ctx.spawn(tokio::time::sleep(self.slow_goodbye));
        }
        if let Some(port) = self.last_words.take() {
            ctx.spawn_then(port.ask(Count, SOON), |worker, reply, ctx| {
                let whether = if reply.is_ok() { "somebody" } else { "nobody" };
                worker.log.write(format!("{whether} heard {}", ctx.name()));
            });
        }
    }
}

impl Handles<Count> for Worker {
    fn handle(&mut self, _: Count, ctx: &mut Context<Self>) -> Answer<Self, (u64, u32)> {
        self.counted += 1;
        Answer::now((ctx.incarnation(), self.counted))
    }
}

impl Handles<Boom> for Worker {
    fn handle(&mut self, _: Boom, _: &mut Context<Self>) -> Answer<Self, ()> {
        panic!("boom")
    }
}

impl Handles<Fail> for Worker {
    fn handle(&mut self, _: Fail, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        ctx.fail("no more paper");
        Answer::now(())
    }
}

impl Handles<Quit> for Worker {
    fn handle(&mut self, _: Quit, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        ctx.stop();
        Answer::now(())
    }
}

impl Handles<Jot> for Worker {
    fn handle(&mut self, jot: Jot, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        self.log.write(format!(
            "jot {} by {}#{}",
            jot.number,
            ctx.name(),
            ctx.incarnation()
        ));
        Answer::now(())
    }
}

impl Handles<Slow> for Worker {
    fn handle(&mut self, slow: Slow, _: &mut Context<Self>) -> Answer<Self, u32> {
        Answer::later(async move {
            pass(slow.millis).await;
            assert!(!slow.then_panic, "slow boom");
            9
        })
    }
}

impl Handles<Work> for Worker {
    fn handle(&mut self, work: Work, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        (work.then)(self, ctx);
        Answer::now(())
    }
}

pub fn worker(name: &str, log: &Log) -> Child<Worker> {
    let log = log.clone();
    let build = move |_: &mut Context<Worker>| Worker {
        counted: 0,
        log: log.clone(),
        slow_goodbye: Duration::ZERO,
        last_words: None,
    };
    Child::new(name, build).mailbox(16)
}

/// Work to do with the actor itself.
pub fn work(then: impl FnOnce(&mut Worker, &mut Context<Worker>) + 'static) -> Work {
    Work { then: Box::new(then) }
}

/// Three restarts in ten seconds, pauses from 100 ms to 2 s without jitter.
pub fn settings(strategy: Strategy) -> SupervisorSettings {
    let backoff = BackoffSettings {
        first: ms(100),
        delay_max: ms(2000),
        jitter: false,
        ..Default::default()
    };
    SupervisorSettings {
        strategy,
        intensity: 3,
        backoff,
        ..Default::default()
    }
}

pub async fn start(log: &Log, settings: SupervisorSettings, children: Vec<ChildSpec>) -> Root {
    start_tree(log, supervisor("root", settings, children)).await
}

pub async fn start_tree<A: Actor>(log: &Log, child: Child<A>) -> Root {
    let settings = RootSettings {
        seed: 7,
        observer: log.observer(),
        ..Default::default()
    };
    Root::start_local(child, settings).await
}
