//! Who of those that wait gets room, in the order in which they asked.

use super::Runs;
use super::rooms::{Asked, Looked};
use crate::messages::run::AskForRoom;
use crate::supervision::{Answer, Context, Handles};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Memory becomes free without a word, so whoever waits for it is looked at so often.
const MEMORY_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

impl Handles<AskForRoom> for Runs {
    fn handle(&mut self, ask: AskForRoom, ctx: &mut Context<Self>) -> Answer<Self, ()> {
        let (admitted, room) = oneshot::channel();
        let asked = Asked {
            group_width: ask.group.map(|member| member.concurrency as usize),
            lane: ask.lane,
            terms: ask.terms,
            memory: ask.memory,
            admitted,
        };
        self.rooms.ask(&ask.run, asked);
        self.give_room(ctx);
        Answer::later(async move {
            let _ = room.await;
        })
    }
}

impl Runs {
    pub(super) fn give_room(&mut self, ctx: &mut Context<Self>) {
        let looked = Looked {
            now: Instant::now(),
            free_memory: &*self.tools.free_memory,
        };
        let short_of_memory = self.rooms.give(self.settings, &looked);
        if short_of_memory && !std::mem::replace(&mut self.looks_again, true) {
            ctx.spawn_then(tokio::time::sleep(MEMORY_LOOKED_AT_EVERY), |runs, (), ctx| {
                runs.looks_again = false;
                runs.give_room(ctx);
            });
        }
    }
}
