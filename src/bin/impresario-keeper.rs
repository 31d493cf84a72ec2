//! The keeper of one program; started by the runtime, never by hand.

fn main() {
    impresario::keeper_main();
    eprintln!("impresario-keeper holds the processes of a run; `impresario` starts it by itself");
    std::process::exit(2);
}
