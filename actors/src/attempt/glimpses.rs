//! When whoever looks is shown what the sub-agent says: the first words at once, more of them now and then, the last ones
//! when the message is over. What the sub-agent waits for by itself is shown when it begins and when it ends.

use crate::gateways::RunnerEvent;
use impresario_policies::redact::redact;
use std::time::Duration;
use tokio::time::Instant;

const SHOWN_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct Glimpses {
    shown_at: Option<Instant>,
    /// Words came that were not shown.
    unshown: bool,
    waits: Option<Wait>,
}

#[derive(Debug)]
struct Wait {
    why: String,
    delay: Duration,
    until: Instant,
}

impl Glimpses {
    /// Whether it is time to show what there is, after this event.
    pub(super) fn is_due(&mut self, event: &RunnerEvent) -> bool {
        let now = Instant::now();
        let waited = self.waits.is_some();
        self.note_wait(event, now);
        let rested = self.shown_at.is_none_or(|shown| now - shown >= SHOWN_EVERY);
        let is_due = match event {
            RunnerEvent::Text { .. } => {
                self.unshown = true;
                rested
            }
            RunnerEvent::RetryAnnounced { .. } => true,
            RunnerEvent::Called { .. } | RunnerEvent::ToolStarted { .. } | RunnerEvent::ToolEnded { .. } => {
                self.unshown
            }
            RunnerEvent::Active
            | RunnerEvent::Alive
            | RunnerEvent::Told { .. }
            | RunnerEvent::Replied { .. }
            | RunnerEvent::Unread { .. }
            | RunnerEvent::Ended(_) => false,
        };
        let is_due = is_due || waited != self.waits.is_some();
        if is_due {
            self.shown_at = Some(now);
            self.unshown = false;
        }
        is_due
    }

    /// Its provider asked it to try again later, and so long it waits.
    pub(super) fn waits(&self) -> Option<(String, Duration)> {
        let wait = self.waits.as_ref()?;
        Some((wait.why.clone(), wait.delay))
    }

    fn note_wait(&mut self, event: &RunnerEvent, now: Instant) {
        match event {
            RunnerEvent::RetryAnnounced { attempt, delay, why } => {
                self.waits = Some(Wait {
                    why: redact(&format!("its provider, try {attempt}: {why}")).into_owned(),
                    delay: *delay,
                    until: now + *delay,
                });
            }
            // Something that says nothing may still belong to the announcement.
            RunnerEvent::Alive | RunnerEvent::Unread { .. } => {
                self.waits.take_if(|wait| now >= wait.until);
            }
            RunnerEvent::Active
            | RunnerEvent::Text { .. }
            | RunnerEvent::ToolStarted { .. }
            | RunnerEvent::ToolEnded { .. }
            | RunnerEvent::Called { .. }
            | RunnerEvent::Told { .. }
            | RunnerEvent::Replied { .. }
            | RunnerEvent::Ended(_) => self.waits = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateways::ModelUsage;

    fn text() -> RunnerEvent {
        RunnerEvent::Text { delta: "x".into() }
    }

    fn used() -> RunnerEvent {
        RunnerEvent::Called {
            served: None,
            used: Some(ModelUsage::default()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn words_are_shown_at_once_then_now_and_then_and_the_last_ones_with_the_message() {
        let mut glimpses = Glimpses::default();
        assert!(glimpses.is_due(&text()));
        assert!(!glimpses.is_due(&text()));
        assert!(glimpses.is_due(&used()), "the message is over");
        assert!(!glimpses.is_due(&used()), "nothing came since");
        tokio::time::advance(SHOWN_EVERY).await;
        assert!(!glimpses.is_due(&RunnerEvent::Alive));
        assert!(glimpses.is_due(&text()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_the_provider_is_shown_until_it_is_over() {
        let delay = Duration::from_secs(4);
        let announced = RunnerEvent::RetryAnnounced {
            attempt: 2,
            delay,
            why: "529".into(),
        };
        let mut glimpses = Glimpses::default();
        assert!(glimpses.is_due(&announced));
        assert_eq!(glimpses.waits(), Some(("its provider, try 2: 529".into(), delay)));
        assert!(
            !glimpses.is_due(&RunnerEvent::Alive),
            "it belongs to the announcement"
        );
        tokio::time::advance(delay).await;
        assert!(glimpses.is_due(&RunnerEvent::Alive));
        assert_eq!(glimpses.waits(), None);
        assert!(glimpses.is_due(&announced));
        assert!(glimpses.is_due(&text()));
        assert_eq!(glimpses.waits(), None);
    }
}
