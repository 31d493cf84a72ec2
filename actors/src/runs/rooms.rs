//! Who has room, and who waits for it: counted as it changes, never by walking through the runs.
//!
//! Members of a group begin in the order of their ids, which is that of their sub-tasks, so at any time one member of
//! each group is all that needs to be looked at.

use super::waiting_line::WaitingLine;
use impresario_policies::admission::{
    AdmissionDecision, AdmissionFacts, AdmissionSettings, GroupRoom, decide_admission,
};
use impresario_policies::domain::{GroupId, RunId};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// Whoever waits for room.
pub(super) struct Asked {
    /// How many of its group work at a time; none for a run by itself.
    pub(super) group_width: Option<usize>,
    /// Told when it has room; dropped when the run is gone.
    pub(super) admitted: oneshot::Sender<()>,
}

#[derive(Default)]
pub(super) struct Rooms {
    guests: BTreeMap<RunId, Guest>,
    groups: BTreeMap<GroupId, Group>,
    running: usize,
    /// Those who wait and belong to no group, in the order in which they asked.
    loners: BTreeMap<Place, Asked>,
    /// The first of each group that waits.
    heads: BTreeSet<Place>,
    places_given: u64,
    /// The same places, for who looks from outside.
    seen: WaitingLine,
    #[cfg(test)]
    looked_at: u64,
}

/// A place in line. Members of a group that came before an earlier one share its number, and stand behind it.
pub(super) type Place = (u64, RunId);

struct Guest {
    group: Option<GroupId>,
    has_room: bool,
    had_room: bool,
    /// The number of its place in line.
    waits_at: Option<u64>,
}

#[derive(Default)]
struct Group {
    members: usize,
    running: usize,
    /// Members that are under way and have not begun.
    not_begun: BTreeSet<RunId>,
    line: BTreeMap<RunId, (u64, Asked)>,
}

impl Rooms {
    /// Empty ones; who waits for them is seen there.
    pub(super) fn seen_in(seen: WaitingLine) -> Self {
        seen.clear();
        Self {
            seen,
            ..Self::default()
        }
    }

    /// A run is under way here; it has no room yet. One that had some before it was brought back holds nobody up.
    pub(super) fn enter(&mut self, run: &RunId, group: Option<&GroupId>, had_room: bool) {
        self.leave(run);
        if let Some(group) = group {
            let group = self.groups.entry(group.clone()).or_default();
            group.members += 1;
            if !had_room {
                group.not_begun.insert(run.clone());
            }
        }
        let guest = Guest {
            group: group.cloned(),
            has_room: false,
            had_room,
            waits_at: None,
        };
        self.guests.insert(run.clone(), guest);
    }

    /// It works no more and holds nobody up, though it is still here.
    pub(super) fn close(&mut self, run: &RunId) {
        self.stop_waiting(run);
        let Some(guest) = self.guests.get_mut(run) else {
            return;
        };
        let had_room = std::mem::take(&mut guest.has_room);
        self.running -= usize::from(had_room);
        if let Some(group) = guest.group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            group.running -= usize::from(had_room);
            group.not_begun.remove(run);
        }
    }

    /// It is gone. Says whether it ever had room.
    pub(super) fn leave(&mut self, run: &RunId) -> bool {
        self.close(run);
        let Some(guest) = self.guests.remove(run) else {
            return false;
        };
        if let Some(id) = guest.group
            && let Some(group) = self.groups.get_mut(&id)
        {
            group.members -= 1;
            if group.members == 0 {
                self.groups.remove(&id);
            }
        }
        guest.had_room
    }

    /// Puts the run in line, or lets it go on with the room it has. One that is not here is forgotten.
    pub(super) fn ask(&mut self, run: &RunId, asked: Asked) {
        self.stop_waiting(run);
        let Some(guest) = self.guests.get_mut(run) else {
            return;
        };
        if guest.has_room {
            let _ = asked.admitted.send(());
            return;
        }
        self.places_given += 1;
        let mut number = self.places_given;
        match guest.group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            Some(group) => {
                if let Some((_, (of_later, _))) = group.line.range(run..).next() {
                    number = *of_later;
                }
                let head_before = group.head();
                group.line.insert(run.clone(), (number, asked));
                let head = group.head();
                self.replace_head(head_before, head);
            }
            None => {
                self.loners.insert((number, run.clone()), asked);
            }
        }
        self.seen.enter((number, run.clone()));
        if let Some(guest) = self.guests.get_mut(run) {
            guest.waits_at = Some(number);
        }
    }

    /// Lets in whoever may go in, one after the other.
    pub(super) fn give(&mut self, settings: AdmissionSettings) {
        while let Some(run) = self.next(settings) {
            let Some(asked) = self.stop_waiting(&run) else {
                return;
            };
            if asked.admitted.is_closed() {
                continue;
            }
            self.let_in(&run);
            let _ = asked.admitted.send(());
        }
    }

    fn next(&mut self, settings: AdmissionSettings) -> Option<RunId> {
        if self.decide(None, settings) == AdmissionDecision::Wait {
            return None;
        }
        let loner = self.loners.keys().next().cloned();
        let heads = self.heads.iter().cloned();
        let before_loner = heads.take_while(|head| loner.as_ref().is_none_or(|loner| head < loner));
        for head in before_loner.collect::<Vec<_>>() {
            let room = self.room_of_group(&head.1)?;
            if self.decide(Some(room), settings) == AdmissionDecision::Admit {
                return Some(head.1);
            }
        }
        loner.map(|(_, run)| run)
    }

    fn decide(&mut self, group: Option<GroupRoom>, settings: AdmissionSettings) -> AdmissionDecision {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let facts = AdmissionFacts {
            running: self.running,
            has_room_already: false,
            group,
        };
        decide_admission(facts, settings)
    }

    /// What is seen of the group whose first in line is `run`.
    fn room_of_group(&self, run: &RunId) -> Option<GroupRoom> {
        let group = self.groups.get(self.guests.get(run)?.group.as_ref()?)?;
        let (_, asked) = group.line.get(run)?;
        Some(GroupRoom {
            running: group.running,
            width: asked.group_width.unwrap_or(usize::MAX),
            earlier_waits: group.not_begun.first().is_some_and(|first| first < run),
        })
    }

    fn let_in(&mut self, run: &RunId) {
        let Some(guest) = self.guests.get_mut(run) else {
            return;
        };
        (guest.has_room, guest.had_room) = (true, true);
        self.running += 1;
        if let Some(group) = guest.group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            group.running += 1;
            group.not_begun.remove(run);
        }
    }

    fn stop_waiting(&mut self, run: &RunId) -> Option<Asked> {
        let guest = self.guests.get_mut(run)?;
        let number = guest.waits_at.take()?;
        self.seen.leave(&(number, run.clone()));
        let Some(group) = guest.group.as_ref().and_then(|group| self.groups.get_mut(group)) else {
            return self.loners.remove(&(number, run.clone()));
        };
        let head_before = group.head();
        let (_, asked) = group.line.remove(run)?;
        let head = group.head();
        self.replace_head(head_before, head);
        Some(asked)
    }

    fn replace_head(&mut self, before: Option<Place>, now: Option<Place>) {
        if let Some(before) = before {
            self.heads.remove(&before);
        }
        self.heads.extend(now);
    }
}

impl Group {
    fn head(&self) -> Option<Place> {
        let (run, (number, _)) = self.line.first_key_value()?;
        Some((*number, run.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: AdmissionSettings = AdmissionSettings { width: 4 };

    fn run(number: u64) -> RunId {
        RunId::new(number, 0)
    }

    /// Rooms, and what those who asked were told.
    #[derive(Default)]
    struct House {
        rooms: Rooms,
        waiting: BTreeMap<u64, oneshot::Receiver<()>>,
    }

    impl House {
        fn enter(&mut self, number: u64, group: Option<&GroupId>) {
            self.rooms.enter(&run(number), group, false);
        }

        fn ask(&mut self, number: u64, group_width: Option<usize>) {
            let (admitted, waiting) = oneshot::channel();
            self.waiting.insert(number, waiting);
            self.rooms.ask(
                &run(number),
                Asked {
                    group_width,
                    admitted,
                },
            );
            self.rooms.give(WIDTH);
        }

        fn leave(&mut self, number: u64) {
            self.rooms.leave(&run(number));
            self.rooms.give(WIDTH);
        }

        /// Those who were told since the last time.
        fn admitted(&mut self) -> Vec<u64> {
            let told = self
                .waiting
                .iter_mut()
                .filter_map(|(number, waiting)| waiting.try_recv().is_ok().then_some(*number));
            let told = told.collect::<Vec<_>>();
            self.waiting.retain(|number, _| !told.contains(number));
            told
        }
    }

    #[test]
    fn runs_are_let_in_as_they_asked_and_no_more_than_there_is_room_for() {
        let mut house = House::default();
        for number in [6, 5, 4, 3, 2, 1] {
            house.enter(number, None);
            house.ask(number, None);
        }
        assert_eq!(house.admitted(), [3, 4, 5, 6]);
        let before = |house: &House, number| house.rooms.seen.before(&run(number));
        assert_eq!(before(&house, 2), Some(0));
        assert_eq!(before(&house, 1), Some(1));
        assert_eq!(before(&house, 3), None, "it has room");
        house.leave(5);
        assert_eq!(house.admitted(), [2]);
        assert_eq!((before(&house, 2), before(&house, 1)), (None, Some(0)));
        house.leave(6);
        assert_eq!(house.admitted(), [1]);
        assert_eq!(before(&house, 1), None);
    }

    #[test]
    fn a_run_that_asks_again_keeps_its_room_and_one_that_is_not_here_is_forgotten() {
        let mut house = House::default();
        house.enter(1, None);
        house.ask(1, None);
        house.ask(1, None);
        assert_eq!(house.admitted(), [1]);
        assert_eq!(house.rooms.running, 1);
        house.ask(2, None);
        let forgotten = house.waiting.get_mut(&2).expect("it asked");
        assert!(
            forgotten
                .try_recv()
                .is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
        );
    }

    #[test]
    fn members_of_a_group_begin_in_their_order_and_let_others_pass() {
        let mut house = House::default();
        let group = GroupId::new(1, 1);
        for number in [1, 2, 3] {
            house.enter(number, Some(&group));
        }
        house.enter(9, None);
        house.ask(3, Some(2));
        house.ask(2, Some(2));
        house.ask(9, None);
        assert_eq!(house.admitted(), [9], "1 has not begun");
        house.ask(1, Some(2));
        assert_eq!(house.admitted(), [1, 2], "two of a group at a time");
        house.leave(2);
        assert_eq!(house.admitted(), [3]);
        for number in [1, 3, 9] {
            house.leave(number);
        }
        assert_eq!((house.rooms.running, house.rooms.groups.len()), (0, 0));
    }

    #[test]
    fn a_member_that_closed_holds_nobody_up() {
        let mut house = House::default();
        let group = GroupId::new(1, 1);
        house.enter(1, Some(&group));
        house.enter(2, Some(&group));
        house.ask(2, Some(1));
        assert!(house.admitted().is_empty());
        house.rooms.close(&run(1));
        house.rooms.give(WIDTH);
        assert_eq!(house.admitted(), [2]);
    }

    /// What each decision costs must not depend on how many wait.
    #[test]
    fn who_comes_and_who_goes_is_looked_at_and_not_everybody_who_waits() {
        const RUNS: u64 = 4_000;
        let mut house = House::default();
        let groups = (0..20)
            .map(|number| GroupId::new(number, number))
            .collect::<Vec<_>>();
        for number in 0..RUNS {
            let group = (number % 2 == 0).then(|| &groups[number as usize / 2 % groups.len()]);
            house.enter(number, group);
            house.ask(number, group.map(|_| 3));
        }
        for number in 0..RUNS {
            house.leave(number);
        }
        assert_eq!(house.admitted().len(), RUNS as usize);
        let looked_at = house.rooms.looked_at;
        assert!(looked_at < 12 * RUNS, "{looked_at} looks for {RUNS} runs");
    }
}
