//! Who of those that wait gets room, in the order in which they asked.

use super::{Live, Runs};
use crate::messages::run::AskForRoom;
use crate::supervision::{Answer, Context, Handles};
use impresario_policies::admission::{AdmissionDecision, AdmissionFacts, GroupRoom, decide_admission};
use impresario_policies::domain::{GroupMember, RunId};
use std::collections::VecDeque;
use tokio::sync::oneshot;

impl Handles<AskForRoom> for Runs {
    fn handle(&mut self, ask: AskForRoom, _: &mut Context<Self>) -> Answer<Self, ()> {
        let (admitted, room) = oneshot::channel();
        self.waiting_for_room.retain(|(asked, _)| asked.run != ask.run);
        let later_of_group = |(asked, _): &(AskForRoom, _)| is_later_of_group(asked, &ask);
        let place = self.waiting_for_room.iter().position(later_of_group);
        let place = place.unwrap_or(self.waiting_for_room.len());
        self.waiting_for_room.insert(place, (ask, admitted));
        self.give_room();
        Answer::later(async move {
            let _ = room.await;
        })
    }
}

/// Members of a group stand in the order of their ids, which is that of their sub-tasks.
fn is_later_of_group(asked: &AskForRoom, than: &AskForRoom) -> bool {
    match (&asked.group, &than.group) {
        (Some(of), Some(than_of)) => of.group == than_of.group && asked.run > than.run,
        _ => false,
    }
}

impl Runs {
    pub(super) fn give_room(&mut self) {
        let mut still_waiting = VecDeque::new();
        while let Some((asked, admitted)) = self.waiting_for_room.pop_front() {
            let Some(facts) = self.admission_facts(&asked) else {
                continue;
            };
            match decide_admission(facts, self.settings) {
                AdmissionDecision::Admit if !admitted.is_closed() => {
                    if let Some(live) = self.live.get_mut(&asked.run) {
                        (live.has_room, live.had_room) = (true, true);
                    }
                    let _ = admitted.send(());
                }
                AdmissionDecision::Admit => {}
                AdmissionDecision::Wait => still_waiting.push_back((asked, admitted)),
            }
        }
        self.waiting_for_room = still_waiting;
    }

    /// None for a run that is no longer under way.
    fn admission_facts(&self, asked: &AskForRoom) -> Option<AdmissionFacts> {
        let with_room = self.live.values().filter(|live| live.has_room);
        Some(AdmissionFacts {
            running: with_room.count(),
            has_room_already: self.live.get(&asked.run)?.has_room,
            group: asked
                .group
                .as_ref()
                .map(|member| self.group_room(&asked.run, member)),
        })
    }

    fn group_room(&self, run: &RunId, member: &GroupMember) -> GroupRoom {
        let of_group = |live: &&Live| live.group.as_ref() == Some(&member.group);
        let earlier = self.live.range(..run).map(|(_, live)| live).filter(of_group);
        GroupRoom {
            running: self
                .live
                .values()
                .filter(of_group)
                .filter(|live| live.has_room)
                .count(),
            width: member.concurrency as usize,
            earlier_waits: earlier.into_iter().any(|live| !live.closed && !live.had_room),
        }
    }
}
