//! Which call is meant? Pi names calls by the model's ids alone, and providers give the same id again.

use impresario_policies::tool_call::call_name;
use std::collections::{BTreeMap, VecDeque};

/// The calls of an attempt that began and did not end, by the model's id.
#[derive(Debug, Default)]
pub(super) struct Calls {
    turn: u32,
    place: u32,
    open: BTreeMap<String, VecDeque<OpenCall>>,
}

#[derive(Debug)]
struct OpenCall {
    name: String,
    /// It got as far as the gate. A call of an unknown tool, or with arguments that do not fit, ends before.
    asked: bool,
}

impl Calls {
    /// The model ended a message that calls tools.
    pub(super) fn next_turn(&mut self) {
        self.turn += 1;
        self.place = 0;
    }

    /// How many calls of this turn have begun.
    pub(super) fn in_this_turn(&self) -> usize {
        self.place as usize
    }

    /// A call begins; gives its name.
    pub(super) fn begin(&mut self, id: &str) -> String {
        self.place += 1;
        let name = call_name(self.turn, self.place, id);
        let open = OpenCall {
            name: name.clone(),
            asked: false,
        };
        self.open.entry(id.to_string()).or_default().push_back(open);
        name
    }

    /// The call that asks whether it may start: Pi prepares one after the other.
    pub(super) fn ask(&mut self, id: &str) -> String {
        let latest = self.open.get_mut(id).and_then(VecDeque::back_mut);
        if let Some(call) = latest.filter(|call| !call.asked) {
            call.asked = true;
            return call.name.clone();
        }
        // A version that asks before it says that the call begins.
        let name = self.begin(id);
        if let Some(call) = self.open.get_mut(id).and_then(VecDeque::back_mut) {
            call.asked = true;
        }
        name
    }

    /// The call whose result is shown before the model sees it.
    pub(super) fn shown(&self, id: &str) -> String {
        let oldest = self.open.get(id).and_then(VecDeque::front);
        oldest.map_or_else(|| call_name(self.turn, 0, id), |call| call.name.clone())
    }

    /// A call ended; gives its name. One that never asked ends before any other with its id.
    pub(super) fn end(&mut self, id: &str) -> String {
        let Some(open) = self.open.get_mut(id) else {
            return call_name(self.turn, 0, id);
        };
        let ended = match open.back() {
            Some(latest) if !latest.asked => open.pop_back(),
            Some(_) | None => open.pop_front(),
        };
        if open.is_empty() {
            self.open.remove(id);
        }
        ended.map_or_else(|| call_name(self.turn, 0, id), |call| call.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Calls;

    #[test]
    fn an_id_of_an_earlier_turn_names_another_call() {
        let mut calls = Calls::default();
        calls.next_turn();
        assert_eq!(calls.begin("call_0"), "1.1:call_0");
        assert_eq!(calls.ask("call_0"), "1.1:call_0");
        assert_eq!(calls.shown("call_0"), "1.1:call_0");
        assert_eq!(calls.end("call_0"), "1.1:call_0");
        calls.next_turn();
        assert_eq!(calls.begin("call_0"), "2.1:call_0");
        assert_eq!(calls.ask("call_0"), "2.1:call_0");
        assert_eq!(calls.end("call_0"), "2.1:call_0");
    }

    #[test]
    fn an_id_that_comes_twice_in_a_reply_names_two_calls() {
        let mut calls = Calls::default();
        calls.next_turn();
        calls.begin("x");
        assert_eq!(calls.ask("x"), "1.1:x");
        calls.begin("x");
        assert_eq!(calls.ask("x"), "1.2:x");
        assert_eq!(calls.end("x"), "1.1:x");
        assert_eq!(calls.shown("x"), "1.2:x");
        assert_eq!(calls.end("x"), "1.2:x");
    }

    #[test]
    fn a_call_that_never_asked_ends_for_itself() {
        let mut calls = Calls::default();
        calls.next_turn();
        calls.begin("x");
        calls.ask("x");
        calls.begin("x");
        assert_eq!(calls.end("x"), "1.2:x");
        assert_eq!(calls.end("x"), "1.1:x");
    }

    #[test]
    fn what_never_began_has_a_name_all_the_same() {
        let mut calls = Calls::default();
        assert_eq!(calls.end("x"), "0.0:x");
        assert_eq!(calls.ask("x"), "0.1:x");
    }
}
