//! Who has room, and who waits for it: counted as it changes, never by walking through the runs.
//!
//! Members of a group begin in the order of their ids, which is that of their sub-tasks, and others in the order in which
//! they asked, so at any time one of each group and one of each lane is all that needs to be looked at.

use super::waiting_line::WaitingLine;
use crate::messages::run::Lane;
use impresario_policies::admission::{
    AdmissionDecision, AdmissionFacts, AdmissionSettings, GroupRoom, Memory, WaitsFor, decide_admission,
    width,
};
use impresario_policies::domain::{AdmissionTerms, GroupId, RunId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// After so long a sub-agent has taken the memory it needs, so that it is seen as taken.
const MEMORY_TAKEN_AFTER: Duration = Duration::from_secs(10);

/// Whoever waits for room.
pub(super) struct Asked {
    /// How many of its group work at a time; none for a run by itself.
    pub(super) group_width: Option<usize>,
    /// Whom it calls.
    pub(super) lane: Lane,
    pub(super) terms: AdmissionTerms,
    /// Memory that it will take, in bytes.
    pub(super) memory: u64,
    /// Told when it has room; dropped when the run is gone.
    pub(super) admitted: oneshot::Sender<()>,
}

/// What is seen outside when room is given.
pub(super) struct Looked<'a> {
    pub(super) now: Instant,
    pub(super) free_memory: &'a dyn Fn() -> Option<u64>,
}

#[derive(Default)]
pub(super) struct Rooms {
    guests: BTreeMap<RunId, Guest>,
    groups: BTreeMap<GroupId, Group>,
    lanes: BTreeMap<Lane, LaneRoom>,
    running: usize,
    /// The first of each group and of each lane that waits.
    heads: BTreeSet<Place>,
    places_given: u64,
    /// What those take who were let in a moment ago.
    promised: Vec<(Instant, u64)>,
    /// The same places, for who looks from outside.
    seen: WaitingLine,
    #[cfg(test)]
    looked_at: u64,
}

/// A place in line. Members of a group that came before an earlier one share its number, and stand behind it. Who has
/// room and changes lanes stands before all, under 0.
pub(super) type Place = (u64, RunId);

struct Guest {
    group: Option<GroupId>,
    /// Where it counts while it has room.
    lane: Option<Lane>,
    has_room: bool,
    had_room: bool,
    waits: Option<Waits>,
}

/// Where a run waits: its number, and its lane unless it stands in the line of its group.
struct Waits {
    number: u64,
    lane: Option<Lane>,
}

#[derive(Default)]
struct Group {
    members: usize,
    running: usize,
    /// Members that are under way and have not begun.
    not_begun: BTreeSet<RunId>,
    line: BTreeMap<RunId, (u64, Asked)>,
}

#[derive(Default)]
struct LaneRoom {
    running: usize,
    line: BTreeMap<Place, Asked>,
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
            lane: None,
            has_room: false,
            had_room,
            waits: None,
        };
        self.guests.insert(run.clone(), guest);
    }

    /// It works no more and holds nobody up, though it is still here.
    pub(super) fn close(&mut self, run: &RunId) {
        self.stop_waiting(run);
        self.leave_lane(run);
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

    fn leave_lane(&mut self, run: &RunId) {
        let lane = self.guests.get_mut(run).and_then(|guest| guest.lane.take());
        let Some(lane) = lane else { return };
        if let Some(room) = self.lanes.get_mut(&lane) {
            room.running -= 1;
        }
        self.forget_empty(&lane);
    }

    fn forget_empty(&mut self, lane: &Lane) {
        let is_empty = |room: &LaneRoom| room.running == 0 && room.line.is_empty();
        if self.lanes.get(lane).is_some_and(is_empty) {
            self.lanes.remove(lane);
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
        let Some(guest) = self.guests.get(run) else {
            return;
        };
        if guest.has_room {
            if guest.lane.as_ref() == Some(&asked.lane) {
                let _ = asked.admitted.send(());
                return;
            }
            // It waits for nobody who waits for it: what it had is free for others.
            self.leave_lane(run);
            return self.stand_in_lane(run, 0, asked);
        }
        self.places_given += 1;
        let number = self.places_given;
        match guest.group.clone() {
            Some(group) => self.stand_in_group(run, &group, number, asked),
            None => self.stand_in_lane(run, number, asked),
        }
    }

    fn stand_in_lane(&mut self, run: &RunId, number: u64, asked: Asked) {
        let lane = asked.lane.clone();
        let room = self.lanes.entry(lane.clone()).or_default();
        let head_before = room.head();
        room.line.insert((number, run.clone()), asked);
        let head = room.head();
        self.replace_head(head_before, head);
        let lane = Some(lane);
        self.stands(run, Waits { number, lane });
    }

    fn stand_in_group(&mut self, run: &RunId, group: &GroupId, number: u64, asked: Asked) {
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        let of_later = group.line.range(run..).next().map(|(_, (of_later, _))| *of_later);
        let number = of_later.unwrap_or(number);
        let head_before = group.head();
        group.line.insert(run.clone(), (number, asked));
        let head = group.head();
        self.replace_head(head_before, head);
        self.stands(run, Waits { number, lane: None });
    }

    fn stands(&mut self, run: &RunId, waits: Waits) {
        self.seen.enter((waits.number, run.clone()));
        if let Some(guest) = self.guests.get_mut(run) {
            guest.waits = Some(waits);
        }
    }

    /// Lets in whoever may go in, one after the other. Says whether somebody waits for memory.
    pub(super) fn give(&mut self, settings: AdmissionSettings, looked: &Looked<'_>) -> bool {
        loop {
            let run = match self.next(settings, looked) {
                Next::Admit(run) => run,
                Next::Nobody { short_of_memory } => return short_of_memory,
            };
            let Some(asked) = self.stop_waiting(&run) else {
                return false;
            };
            if asked.admitted.is_closed() {
                continue;
            }
            self.let_in(&run, &asked, looked.now);
            let _ = asked.admitted.send(());
        }
    }

    fn next(&mut self, settings: AdmissionSettings, looked: &Looked<'_>) -> Next {
        let mut short_of_memory = false;
        let heads = self.heads.iter().cloned().collect::<Vec<_>>();
        for (number, run) in heads {
            match self.decide(&run, number, settings, looked) {
                Some(AdmissionDecision::Admit) => return Next::Admit(run),
                // Nobody behind it has room either: those who need none stand before all.
                Some(AdmissionDecision::Wait(WaitsFor::Room)) => break,
                Some(AdmissionDecision::Wait(WaitsFor::Memory)) => {
                    short_of_memory = true;
                    break;
                }
                Some(AdmissionDecision::Wait(WaitsFor::Group | WaitsFor::Provider)) | None => {}
            }
        }
        Next::Nobody { short_of_memory }
    }

    fn decide(
        &mut self,
        run: &RunId,
        number: u64,
        settings: AdmissionSettings,
        looked: &Looked<'_>,
    ) -> Option<AdmissionDecision> {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let guest = self.guests.get(run)?;
        let (asked, group) = match &guest.waits.as_ref()?.lane {
            Some(lane) => (self.lanes.get(lane)?.line.get(&(number, run.clone()))?, None),
            None => {
                let group = self.groups.get(guest.group.as_ref()?)?;
                let (_, asked) = group.line.get(run)?;
                let room = GroupRoom {
                    running: group.running,
                    width: asked.group_width.unwrap_or(usize::MAX),
                    earlier_waits: group.not_begun.first().is_some_and(|first| first < run),
                };
                (asked, Some(room))
            }
        };
        // Memory is looked at only where it may decide.
        let may_have_room = !guest.has_room && self.running < width(asked.terms, settings);
        let memory = (may_have_room && self.running > 0).then(|| Memory {
            free: (looked.free_memory)(),
            promised: promised(&self.promised, looked.now),
            needed: asked.memory,
        });
        let facts = AdmissionFacts {
            running: self.running,
            has_room_already: guest.has_room,
            running_at_provider: self.lanes.get(&asked.lane).map_or(0, |room| room.running),
            group,
            memory: memory.unwrap_or_default(),
        };
        Some(decide_admission(facts, asked.terms, settings))
    }

    fn let_in(&mut self, run: &RunId, asked: &Asked, now: Instant) {
        let Some(guest) = self.guests.get_mut(run) else {
            return;
        };
        guest.lane = Some(asked.lane.clone());
        self.lanes.entry(asked.lane.clone()).or_default().running += 1;
        if guest.has_room {
            return;
        }
        (guest.has_room, guest.had_room) = (true, true);
        self.running += 1;
        self.promised
            .retain(|(since, _)| now - *since < MEMORY_TAKEN_AFTER);
        self.promised.push((now, asked.memory));
        if let Some(group) = guest.group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            group.running += 1;
            group.not_begun.remove(run);
        }
    }

    fn stop_waiting(&mut self, run: &RunId) -> Option<Asked> {
        let guest = self.guests.get_mut(run)?;
        let Waits { number, lane } = guest.waits.take()?;
        let place = (number, run.clone());
        self.seen.leave(&place);
        let (head_before, asked, head) = match &lane {
            Some(lane) => {
                let room = self.lanes.get_mut(lane)?;
                (room.head(), room.line.remove(&place)?, room.head())
            }
            None => {
                let group = self.groups.get_mut(guest.group.as_ref()?)?;
                (group.head(), group.line.remove(run)?.1, group.head())
            }
        };
        self.replace_head(head_before, head);
        if let Some(lane) = lane {
            self.forget_empty(&lane);
        }
        Some(asked)
    }

    fn replace_head(&mut self, before: Option<Place>, now: Option<Place>) {
        if let Some(before) = before {
            self.heads.remove(&before);
        }
        self.heads.extend(now);
    }
}

/// Who goes in next.
enum Next {
    Admit(RunId),
    Nobody { short_of_memory: bool },
}

fn promised(of_late: &[(Instant, u64)], now: Instant) -> u64 {
    let of_late = of_late
        .iter()
        .filter(|(since, _)| now - *since < MEMORY_TAKEN_AFTER);
    of_late.map(|(_, memory)| memory).sum()
}

impl LaneRoom {
    fn head(&self) -> Option<Place> {
        self.line.keys().next().cloned()
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
    use crate::gateways::LoginId;

    const WIDTH: AdmissionSettings = AdmissionSettings { width: Some(4) };
    const MIB: u64 = 1 << 20;

    fn run(number: u64) -> RunId {
        RunId::new(number, 0)
    }

    fn lane(provider: &str) -> Lane {
        Lane {
            provider: provider.into(),
            login: LoginId(0),
        }
    }

    /// Rooms, and what those who asked were told.
    #[derive(Default)]
    struct House {
        rooms: Rooms,
        free_memory: Option<u64>,
        later: Duration,
        short_of_memory: bool,
        waiting: BTreeMap<u64, oneshot::Receiver<()>>,
    }

    impl House {
        fn enter(&mut self, number: u64, group: Option<&GroupId>) {
            self.rooms.enter(&run(number), group, false);
        }

        fn ask(&mut self, number: u64, group_width: Option<usize>) {
            self.ask_at("a", number, group_width);
        }

        fn ask_at(&mut self, provider: &str, number: u64, group_width: Option<usize>) {
            let (admitted, waiting) = oneshot::channel();
            self.waiting.insert(number, waiting);
            self.rooms.ask(
                &run(number),
                Asked {
                    group_width,
                    lane: lane(provider),
                    terms: AdmissionTerms {
                        provider_width: 2 * u32::from(provider.len() > 1),
                        ..AdmissionTerms::default()
                    },
                    memory: 200 * MIB,
                    admitted,
                },
            );
            self.give();
        }

        fn give(&mut self) {
            let free = self.free_memory;
            let looked = Looked {
                now: Instant::now() + self.later,
                free_memory: &|| free,
            };
            self.short_of_memory = self.rooms.give(WIDTH, &looked);
        }

        fn leave(&mut self, number: u64) {
            self.rooms.leave(&run(number));
            self.give();
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
        house.give();
        assert_eq!(house.admitted(), [2]);
    }

    #[test]
    fn a_full_provider_holds_up_nobody_who_calls_another() {
        let mut house = House::default();
        for number in 1..=5 {
            house.enter(number, None);
            let provider = if number < 4 { "narrow" } else { "other" };
            house.ask_at(provider, number, None);
        }
        assert_eq!(house.admitted(), [1, 2, 4, 5]);
        house.leave(4);
        assert!(
            house.admitted().is_empty(),
            "there is room, and not at its provider"
        );
        house.leave(1);
        assert_eq!(house.admitted(), [3]);
    }

    #[test]
    fn who_changes_providers_keeps_its_room_and_waits_for_the_other_one_only() {
        let mut house = House::default();
        for (number, provider) in [
            (1, "narrow"),
            (2, "narrow"),
            (3, "other"),
            (4, "other"),
            (5, "narrow"),
        ] {
            house.enter(number, None);
            house.ask_at(provider, number, None);
        }
        assert_eq!(house.admitted(), [1, 2, 3, 4]);
        // Two that change places at the same time do not wait for each other.
        house.ask_at("other", 1, None);
        assert!(house.admitted().is_empty());
        house.ask_at("narrow", 3, None);
        assert_eq!(house.admitted(), [1, 3], "what each left is the other's");
        assert_eq!(house.rooms.running, 4);
        house.leave(2);
        assert_eq!(house.admitted(), [5]);
        for number in [1, 3, 4, 5] {
            house.leave(number);
        }
        assert_eq!((house.rooms.running, house.rooms.lanes.len()), (0, 0));
    }

    #[test]
    fn free_memory_bounds_how_many_begin_and_one_always_may() {
        let mut house = House {
            free_memory: Some(400 * MIB),
            ..House::default()
        };
        for number in 1..=3 {
            house.enter(number, None);
            house.ask(number, None);
        }
        // What the first one takes is not to be seen yet.
        assert_eq!(house.admitted(), [1]);
        assert!(house.short_of_memory);
        house.later = MEMORY_TAKEN_AFTER;
        house.give();
        assert_eq!(house.admitted(), [2]);
        house.free_memory = Some(0);
        house.leave(1);
        assert!(house.admitted().is_empty() && house.short_of_memory);
        house.leave(2);
        assert_eq!(house.admitted(), [3], "nobody works");
        assert!(!house.short_of_memory);
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
