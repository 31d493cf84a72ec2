//! Who of those that wait gets room, in the order in which they asked.

use super::Runs;
use super::rooms::Asked;
use crate::messages::run::AskForRoom;
use crate::supervision::{Answer, Context, Handles};
use tokio::sync::oneshot;

impl Handles<AskForRoom> for Runs {
    fn handle(&mut self, ask: AskForRoom, _: &mut Context<Self>) -> Answer<Self, ()> {
        let (admitted, room) = oneshot::channel();
        let asked = Asked {
            group_width: ask.group.map(|member| member.concurrency as usize),
            admitted,
        };
        self.rooms.ask(&ask.run, asked);
        self.give_room();
        Answer::later(async move {
            let _ = room.await;
        })
    }
}

impl Runs {
    pub(super) fn give_room(&mut self) {
        self.rooms.give(self.settings);
    }
}
