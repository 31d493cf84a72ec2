//! What a counted passage is worth as an answer, together with its file.

use super::counting::{CountedFile, CountedPassage, Counts, Vocabulary};
use super::file_kind::{FileKind, weigh_kind};
use super::question::Question;
use super::ranking::{RankedPassage, RankingSettings};

/// How telling each stem is among so many things, and how such things are scored.
pub(super) struct Rarity {
    pub(super) things: f64,
    pub(super) words_mean: f64,
    pub(super) length_penalty: f64,
    pub(super) name_share: f64,
    pub(super) found_in: Vec<f64>,
}

impl Rarity {
    pub(super) fn new<'c>(
        stems: usize,
        length_penalty: f64,
        name_share: f64,
        counted: impl Iterator<Item = (&'c Counts, f64)>,
    ) -> Self {
        let mut rarity = Self {
            things: 0.0,
            words_mean: 0.0,
            length_penalty,
            name_share,
            found_in: vec![0.0; stems],
        };
        let mut words = 0.0;
        for (counts, length) in counted {
            rarity.things += 1.0;
            words += length;
            for stem in counts.keys() {
                rarity.found_in[*stem] += 1.0;
            }
        }
        rarity.words_mean = (words / rarity.things.max(1.0)).max(1.0);
        rarity
    }

    fn of(&self, stem: usize) -> f64 {
        let found_in = self.found_in[stem];
        if found_in == 0.0 {
            return 0.0;
        }
        (1.0 + (self.things - found_in + 0.5) / (found_in + 0.5)).ln()
    }
}

/// A notion with the numbers of its stems.
pub(super) struct NumberedNotion {
    pub(super) weight: f64,
    pub(super) stems: Vec<(usize, f64)>,
}

pub(super) struct Scorer<'a> {
    pub(super) settings: &'a RankingSettings,
    pub(super) notions: Vec<NumberedNotion>,
    pub(super) passages: Rarity,
    pub(super) files: Rarity,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        question: &Question,
        vocabulary: &Vocabulary,
        settings: &'a RankingSettings,
        counted: &[CountedFile],
    ) -> Self {
        let notions = question
            .notions
            .iter()
            .zip(&vocabulary.sayings_of)
            .map(|(notion, sayings)| {
                let words = notion
                    .stems
                    .iter()
                    .map(|(stem, weight)| (vocabulary.numbers[stem], *weight));
                NumberedNotion {
                    weight: notion.weight,
                    stems: words.chain(sayings.iter().copied()).collect(),
                }
            });
        let stems = vocabulary.stems.len();
        let passages = counted
            .iter()
            .flat_map(|file| &file.passages)
            .map(|each| (&each.counts, each.words));
        let files = counted.iter().map(|file| (&file.counts, file.words));
        Self {
            settings,
            notions: notions.collect(),
            passages: Rarity::new(stems, settings.length_penalty, settings.name_share, passages),
            files: Rarity::new(stems, settings.file_length_penalty, settings.path_share, files),
        }
    }

    pub(super) fn rank_file(
        &self,
        index: usize,
        file: &CountedFile,
        question: &Question,
    ) -> Vec<RankedPassage> {
        let of_file = self.score(&file.counts, file.words, &self.files);
        if of_file == 0.0 {
            return Vec::new();
        }
        let gathering = if file.gathers {
            self.settings.gathering_weight
        } else {
            1.0
        };
        let by_kind = weigh_kind(file.kind, &question.kinds) * gathering;
        let mut ranked: Vec<RankedPassage> = file
            .passages
            .iter()
            .map(|passage| {
                let own = self.score_passage(passage);
                let inner_test = passage.is_test && !question.kinds.contains(&FileKind::Test);
                let by_test = if inner_test {
                    self.settings.inner_test_weight
                } else {
                    1.0
                };
                RankedPassage {
                    file: index,
                    line_start: passage.start + 1,
                    line_end: passage.end,
                    score: (own + self.settings.file_share * of_file) * by_kind * by_test,
                }
            })
            .collect();
        ranked.sort_by(|one, other| {
            other
                .score
                .total_cmp(&one.score)
                .then(one.line_start.cmp(&other.line_start))
        });
        ranked.truncate(self.settings.passages_of_a_file_max);
        for (rank, passage) in ranked.iter_mut().enumerate() {
            passage.score *= self.settings.further_passage_weight.powi(rank as i32);
        }
        ranked
    }

    fn score_passage(&self, passage: &CountedPassage) -> f64 {
        let mut score = self.score(&passage.counts, passage.words, &self.passages);
        for (one, other) in &passage.neighbours {
            let rarity = self
                .notion_rarity(*one, &self.passages)
                .min(self.notion_rarity(*other, &self.passages));
            let weight = self.notions[*one].weight.min(self.notions[*other].weight);
            score += self.settings.neighbour_share * rarity * weight;
        }
        if passage.defines_name {
            score * 2.0 + 4.0
        } else {
            score
        }
    }

    fn score(&self, counts: &Counts, words: f64, rarity: &Rarity) -> f64 {
        let length =
            1.0 - rarity.length_penalty + rarity.length_penalty * (words / rarity.words_mean).max(LENGTH_MIN);
        let mut sum = 0.0;
        let mut covered = 0.0;
        let mut coverable = 0.0;
        for (index, notion) in self.notions.iter().enumerate() {
            let notion_rarity = self.notion_rarity(index, rarity);
            coverable += notion.weight * notion_rarity;
            let mut best = 0.0_f64;
            let mut all = 0.0;
            let mut best_weight = 0.0_f64;
            for (stem, weight) in &notion.stems {
                let Some(count) = counts.get(stem) else { continue };
                let often = count.in_text / length;
                let told = often / (often + self.settings.saturation) + rarity.name_share * count.in_names;
                let share = weight * rarity.of(*stem).min(notion_rarity) * told;
                best = best.max(share);
                best_weight = best_weight.max(*weight);
                all += share;
            }
            let further = (all - best).min(best);
            sum += notion.weight * (best + self.settings.further_share * further);
            covered += notion.weight * notion_rarity * best_weight;
        }
        if coverable == 0.0 {
            return 0.0;
        }
        let coverage = covered / coverable;
        sum * (1.0 - self.settings.coverage_share + self.settings.coverage_share * coverage)
    }

    /// As rare as its own word, or as its rarest kin where nobody uses the word itself.
    fn notion_rarity(&self, notion: usize, rarity: &Rarity) -> f64 {
        let stems = &self.notions[notion].stems;
        let own = rarity.of(stems[0].0);
        if own > 0.0 {
            return own;
        }
        stems.iter().map(|(stem, _)| rarity.of(*stem)).fold(0.0, f64::max)
    }
}

/// Passages and files below this share of the mean length are not favoured further.
const LENGTH_MIN: f64 = 0.6;
