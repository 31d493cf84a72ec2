//! What an actor is and what it handles.

use super::{Answer, Context};

/// Something one actor says to another.
pub trait Message: 'static {
    /// What the one who asked gets back.
    type Reply: 'static;
    /// The name in traces, in dead letters, and at the boundaries of the chaos tests.
    const NAME: &'static str;
}

/// State that handles one message at a time, and is rebuilt when it dies.
///
/// What is not listed cannot be sent, so a chaos test knows every boundary there is:
///
/// ```compile_fail,E0080
/// use impresario_actors::supervision::*;
/// message!(Ping);
/// struct Forgetful;
/// impl Actor for Forgetful {
///     const KIND: &'static str = "forgetful";
///     const HANDLES: &'static [&'static str] = &[];
/// }
/// impl Handles<Ping> for Forgetful {
///     fn handle(&mut self, _: Ping, _: &mut Context<Self>) -> Answer<Self, ()> {
///         Answer::now(())
///     }
/// }
/// let port = Child::new("forgetful", |_| Forgetful).port::<Ping>();
/// ```
pub trait Actor: Sized + 'static {
    /// What kind of actor this is: `run`, `journal`.
    const KIND: &'static str;
    /// The `NAME`s of every message it handles. A port for a message that is not listed does not compile.
    const HANDLES: &'static [&'static str];

    /// Runs once for each incarnation, before its first message. A panic here is an exit like any other.
    fn started(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx;
    }

    /// Runs when it was told to go, never after a panic. Tasks spawned here are waited for, within the grace.
    fn stopping(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx;
    }
}

/// An actor that handles `M`.
pub trait Handles<M: Message>: Actor {
    /// Handles one message. Nothing here computes for more than a millisecond.
    fn handle(&mut self, message: M, ctx: &mut Context<Self>) -> Answer<Self, M::Reply>;
}

/// Stops the build when an actor handles a message that its `HANDLES` does not list.
pub(super) const fn assert_listed<A: Handles<M>, M: Message>() {
    let mut index = 0;
    while index < A::HANDLES.len() {
        if same_text(A::HANDLES[index], M::NAME) {
            return;
        }
        index += 1;
    }
    panic!("this actor's HANDLES does not list a message that it handles")
}

const fn same_text(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Declares a message: the struct and what it is answered with. Fields have the visibility of the struct.
///
/// ```
/// use impresario_actors::supervision::{Message, message};
///
/// message!(
///     /// Adds to the sum.
///     pub Add {
///         /// How much.
///         amount: u64,
///     } -> u64
/// );
/// message!(
///     /// Forgets the sum.
///     #[derive(Debug, Clone)]
///     pub Clear
/// );
///
/// struct Ping(u32);
/// message!(impl Ping -> u32);
/// assert_eq!((Add::NAME, Clear::NAME, Ping::NAME), ("Add", "Clear", "Ping"));
/// ```
#[macro_export]
macro_rules! message {
    (impl $name:ident -> $reply:ty) => {
        impl $crate::supervision::Message for $name {
            type Reply = $reply;
            const NAME: &'static str = stringify!($name);
        }
    };
    (impl $name:ident) => {
        $crate::message!(impl $name -> ());
    };
    (
        $(#[$meta:meta])* $visibility:vis $name:ident
        { $($(#[$field_meta:meta])* $field:ident : $type:ty),* $(,)? }
        $(-> $reply:ty)?
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $visibility $field: $type),*
        }
        $crate::message!(impl $name $(-> $reply)?);
    };
    ($(#[$meta:meta])* $visibility:vis $name:ident $(-> $reply:ty)?) => {
        $(#[$meta])*
        $visibility struct $name;
        $crate::message!(impl $name $(-> $reply)?);
    };
}
