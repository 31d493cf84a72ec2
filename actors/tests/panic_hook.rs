//! The panic hook is the process's, so these facts have a process of their own.

use impresario_actors::supervision::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

message!(Boom);

struct Breaker;

impl Actor for Breaker {
    const KIND: &'static str = "breaker";
    const HANDLES: &'static [&'static str] = &[Boom::NAME];
}

impl Handles<Boom> for Breaker {
    fn handle(&mut self, _: Boom, _: &mut Context<Self>) -> Answer<Self, ()> {
        panic!("boom")
    }
}

fn exit_of_a_panic() -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let child = Child::new("breaker", |_| Breaker);
        let boom = child.port::<Boom>();
        let root = supervisor("root", SupervisorSettings::default(), vec![child.spec()]);
        let _root = Root::start_local(root, RootSettings::default()).await;
        match boom.ask(Boom, Duration::from_secs(30)).await {
            Err(AskError::Died { cause, .. }) => cause,
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn only_when_installed_it_knows_the_place_and_takes_the_panics_of_actors_and_no_others() {
    static PRINTED: AtomicUsize = AtomicUsize::new(0);
    let printed = || PRINTED.load(Ordering::SeqCst);
    std::panic::set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::SeqCst);
    }));
    let at_place = |exit: &Exit, place: &str| match exit {
        Exit::Panicked { message, at } => &**message == "boom" && at.contains(place),
        _ => false,
    };

    let before = exit_of_a_panic();
    assert!(at_place(&before, "an unknown place"), "{before}");
    assert_eq!(printed(), 1);

    install_panic_hook();
    install_panic_hook();
    let after = exit_of_a_panic();
    assert!(at_place(&after, "panic_hook.rs:"), "{after}");
    assert_eq!(printed(), 1, "an actor's panic is an exit, and not printed");

    assert!(std::panic::catch_unwind(|| panic!("elsewhere")).is_err());
    assert_eq!(printed(), 2);
}
