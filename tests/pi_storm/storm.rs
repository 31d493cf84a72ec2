//! What a seed means: who works, what the provider does to one of them, and who is killed when.

use impresario_test_support::pi::Version;

/// What the sub-agents of a storm are to each other, and what is done with them besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A person runs a skill.
    Skill,
    /// The same, and its sub-agent is told something while it works.
    Steered,
    /// The main agent asks several at once and waits for them.
    Tree,
    /// It asks and does not wait; where its host is killed, Pi is started again and gets what there is.
    Background,
    /// One after the other.
    Chain { in_background: bool },
    /// Two, of which the second is served by the worker of the first.
    Warm,
    /// Several at once that may spend so many tokens together.
    Capped { tokens: u64 },
}

/// What a tool of a sub-agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// It reads, which may happen twice.
    Safe,
    /// It writes a line, which must not happen twice.
    Unsafe,
    /// The same, and takes a while.
    Slow,
    /// It gives more than the model should see.
    Large,
    /// Two at once.
    Pair,
    /// It changes a long file, which must not be left half.
    Edit,
}

/// What the provider does to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ill {
    Overloaded,
    Unauthorized,
    Cut,
    Hang,
    Garbage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Runtime,
    Keeper,
    NestedPi,
    Host,
}

/// When somebody is killed. Whoever could move on is held there, and nobody lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The judge's call has arrived.
    Judged,
    /// This call of the sub-agent has arrived.
    Asked(usize),
    /// The answer to this call of the sub-agent has begun.
    Answering(usize),
    /// A tool ordered by this call has written its line and is not done.
    InTool(usize),
    /// The end of the run is on disk.
    Ended,
    /// The first of two runs is over, and its worker waits for the next.
    Idle,
    /// The second run has begun an attempt, and its worker is handed over.
    HandOver,
}

#[derive(Debug, Clone)]
pub struct Storm {
    pub seed: u64,
    pub version: Version,
    pub kind: Kind,
    /// The tools of each sub-agent, in the order in which the main agent asks them.
    pub children: Vec<Vec<Work>>,
    /// Which of them the fault and the moment are of.
    pub struck: usize,
    pub ill: Option<(usize, Ill)>,
    pub kill: Option<(Victim, Moment)>,
}

pub const SUCCEEDED: &str = "succeeded";
pub const PARKED: &str = "parked";

impl Storm {
    /// Faults, victims and kinds take turns, so that sixty seeds in a row have every pair of a fault and a victim, and
    /// every seven each kind; the rest is chance.
    pub fn of(seed: u64, version: Version) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let ills = [
            None,
            Some(Ill::Overloaded),
            Some(Ill::Unauthorized),
            Some(Ill::Cut),
            Some(Ill::Hang),
            Some(Ill::Garbage),
        ];
        let victims = [
            Some(Victim::Runtime),
            Some(Victim::Keeper),
            Some(Victim::NestedPi),
            Some(Victim::Host),
            None,
        ];
        let kind = Kind::of(seed, &mut dice);
        let mut children = kind.children(&mut dice);
        let struck = dice.usize(0..children.len());
        let works = children[struck].len();
        let kill = victims[(seed / 6 % 5) as usize];
        let kill = kill.map(|victim| (victim, Moment::of(kind, struck, victim, works, &mut dice)));
        match kill {
            Some((_, Moment::InTool(place))) => children[struck][place] = Work::Unsafe,
            // It may have begun by the time of the kill, and must not be in what cannot be repeated.
            Some((_, Moment::HandOver)) => children[struck] = vec![Work::Safe; works],
            _ => {}
        }
        let ill = ills[(seed % 6) as usize];
        // What happens to the provider comes first: whoever is killed may be the last to speak with it.
        let last = match kill {
            Some((_, Moment::Judged | Moment::Idle | Moment::HandOver)) => 0,
            Some((_, Moment::Asked(call) | Moment::Answering(call) | Moment::InTool(call))) => call,
            Some((_, Moment::Ended)) | None => works,
        };
        // Of those that are capped any may be stopped before its fault.
        let is_certain = kill.is_none() || !matches!(kind, Kind::Capped { .. });
        let ill = ill.filter(|_| is_certain).map(|ill| (dice.usize(0..=last), ill));
        Self {
            seed,
            version,
            kind,
            children,
            struck,
            ill,
            kill,
        }
    }

    pub fn replay(&self) -> String {
        let (seed, version) = (self.seed, self.version);
        format!("IMPRESARIO_STORM_SEED={seed} IMPRESARIO_STORM_PI={version} cargo test --test pi_storm")
    }

    pub fn victim(&self) -> Option<Victim> {
        self.kill.map(|(victim, _)| victim)
    }

    pub fn moment(&self) -> Option<Moment> {
        self.kill.map(|(_, moment)| moment)
    }

    /// How this sub-agent may end.
    pub fn may_end(&self, child: usize) -> &'static [&'static str] {
        const EITHER: &[&str] = &[SUCCEEDED, PARKED];
        if self.is_capped() {
            return EITHER;
        }
        let Some((victim, moment)) = self.kill else {
            return &[SUCCEEDED];
        };
        let is_struck = child == self.struck;
        if is_struck && moment.is_held() && (victim == Victim::Host || matches!(moment, Moment::InTool(_))) {
            return &[PARKED];
        }
        match self.kind {
            Kind::Tree | Kind::Background | Kind::Capped { .. } if self.children.len() > 1 => {
                // Nobody knows where the others are, whose process it is that is hit, or who of them ended first.
                match is_struck && moment.is_held() && victim == Victim::Runtime {
                    true => &[SUCCEEDED],
                    false => EITHER,
                }
            }
            Kind::Chain { .. } if child > self.struck && victim == Victim::Host => match moment.is_held() {
                true => &[PARKED],
                false => EITHER,
            },
            Kind::Chain { .. } if child > self.struck && matches!(moment, Moment::InTool(_)) => &[PARKED],
            Kind::Warm if victim == Victim::Host && moment == Moment::HandOver && is_struck => EITHER,
            _ => &[SUCCEEDED],
        }
    }

    /// Whether each sub-agent is asked for, whatever happens.
    pub fn asks_all(&self) -> bool {
        self.victim() != Some(Victim::Host) || matches!(self.kind, Kind::Chain { .. })
    }

    /// Whether what its provider is to do is certain to happen: not where who is struck may end, or be stopped, before.
    pub fn meets_its_fault(&self) -> bool {
        let is_ended_by_another = self.children.len() > 1
            && self.moment() == Some(Moment::Ended)
            && !matches!(self.kind, Kind::Chain { .. } | Kind::Warm);
        let is_before_it = match self.moment() {
            Some(Moment::HandOver) => true,
            Some(Moment::Judged | Moment::Idle) => self.victim() == Some(Victim::Host),
            _ => false,
        };
        !self.is_capped() && !is_ended_by_another && !is_before_it
    }

    /// Each may be stopped at any call.
    pub fn is_capped(&self) -> bool {
        matches!(self.kind, Kind::Capped { .. })
    }
}

impl Kind {
    fn of(seed: u64, dice: &mut fastrand::Rng) -> Self {
        match seed % 7 {
            0 => Self::Skill,
            1 => Self::Tree,
            2 => Self::Chain {
                in_background: dice.bool(),
            },
            3 => Self::Warm,
            4 => Self::Background,
            5 => Self::Steered,
            _ => Self::Capped {
                tokens: [15_000, 25_000, 40_000, 100_000][dice.usize(0..4)],
            },
        }
    }

    fn children(self, dice: &mut fastrand::Rng) -> Vec<Vec<Work>> {
        let count = match self {
            Self::Skill | Self::Steered => 1,
            Self::Tree | Self::Capped { .. } => dice.usize(2..=4),
            Self::Background => dice.usize(1..=2),
            Self::Chain { .. } => dice.usize(2..=3),
            Self::Warm => 2,
        };
        (0..count)
            .map(|_| {
                let works = (0..dice.usize(1..=3)).map(|place| {
                    let all = [Work::Safe, Work::Unsafe, Work::Slow, Work::Large, Work::Pair];
                    match all[dice.usize(0..all.len())] {
                        Work::Unsafe | Work::Slow if place != 1 && self.may_edit() => Work::Edit,
                        work => work,
                    }
                });
                works.collect()
            })
            .collect()
    }

    /// The skill's own brief and judge come before its sub-agent.
    pub fn is_of_a_person(self) -> bool {
        matches!(self, Self::Skill | Self::Steered)
    }
}

impl Moment {
    fn of(kind: Kind, struck: usize, victim: Victim, works: usize, dice: &mut fastrand::Rng) -> Self {
        let mut all = vec![
            Self::Asked(dice.usize(0..=works)),
            Self::Answering(dice.usize(0..=works)),
            Self::InTool(dice.usize(0..works)),
        ];
        if matches!(kind, Kind::Capped { .. }) {
            // The first call is made whatever may be spent; each is held there, for any may be the first.
            all = vec![Self::Asked(0), Self::Answering(0)];
        }
        if matches!(victim, Victim::Runtime | Victim::Host) {
            all.push(Self::Ended);
            if kind == Kind::Skill {
                all.push(Self::Judged);
            }
        }
        if kind == Kind::Warm && struck == 1 {
            all.extend([Self::Idle, Self::HandOver, Self::HandOver]);
        }
        all[dice.usize(0..all.len())]
    }

    /// Nobody gets beyond it who is not killed.
    pub fn is_held(self) -> bool {
        match self {
            Self::Judged | Self::Asked(_) | Self::Answering(_) | Self::InTool(_) => true,
            Self::Ended | Self::Idle | Self::HandOver => false,
        }
    }
}
