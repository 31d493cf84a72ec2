//! One actor under supervision: it panics, its supervisor brings it back, and the port to it never notices the difference.
//!
//! ```sh
//! cargo run --example actor
//! ```

use impresario_actors::message;
use impresario_actors::supervision::{
    Actor, Answer, AskError, Child, Context, Handles, Message, Root, RootSettings, SupervisorSettings,
    install_panic_hook, supervisor,
};
use std::time::Duration;

message!(Divide { dividend: i64, divisor: i64 } -> i64);

/// Divides. By zero it panics, as a program with a fault does.
#[derive(Default)]
struct Divider {
    divisions: u32,
}

impl Actor for Divider {
    const KIND: &'static str = "divider";
    const HANDLES: &'static [&'static str] = &[Divide::NAME];
}

impl Handles<Divide> for Divider {
    fn handle(&mut self, divide: Divide, ctx: &mut Context<Self>) -> Answer<Self, i64> {
        let quotient = divide.dividend / divide.divisor;
        self.divisions += 1;
        println!(
            "life {} of {}: division {}",
            ctx.incarnation(),
            ctx.name(),
            self.divisions
        );
        Answer::now(quotient)
    }
}

const WITHIN: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // Panics of actors become reports instead of noise on stderr; other panics are printed as ever.
    install_panic_hook();
    tokio::task::LocalSet::new().run_until(show()).await;
}

async fn show() {
    let divider = Child::new("divider", |_| Divider::default());
    let port = divider.port::<Divide>();
    let tree = supervisor("root", SupervisorSettings::default(), vec![divider.spec()]);
    let root = Root::start_local(tree, RootSettings::default()).await;

    for (dividend, divisor) in [(84, 2), (1, 0), (9, 3)] {
        let divide = Divide { dividend, divisor };
        match port.ask(divide, WITHIN).await {
            Ok(quotient) => println!("{dividend} / {divisor} = {quotient}"),
            Err(AskError::Died { incarnation, cause }) => {
                println!("{dividend} / {divisor}: life {incarnation} was handling it and ended: {cause}");
            }
            Err(other) => println!("{dividend} / {divisor}: {other}"),
        }
    }
    println!("the tree: {}", root.shutdown(WITHIN).await);
}
