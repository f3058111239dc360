//! What there is to say about an answer, each fact in one sentence: words and typed numbers. Pages,
//! panels and texts choose among the statements and lay them out, and have no words of their own.

use super::by_chance::permutation_words;
use super::{
    ByChance, Choice, Compared, Drift, MethodAnswer, ProbeAnswer, Stability, StabilityBand, Tested,
    Transfer, count_features, p_words, two_decimals,
};
use crate::error::{counted, printable};
use crate::evaluate::{Interval, MANY_EMPTY, Performance, rounded_p};
use crate::run::RunInfo;

/// What a statement is about; a page chooses by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The number of features, and how it was chosen.
    Size,
    /// Whether the list was tested on rows that the procedure never saw.
    Validation,
    /// What that test measured: the numbers to quote.
    Tested,
    /// The class, site or subgroup that does worst.
    Worst,
    /// How the list transfers to other sites, and whether rows are exchangeable.
    Transfer,
    /// What chance selects.
    Chance,
    /// On whose test rows the splits were measured.
    Selection,
    /// What the splits' own subsets achieved there.
    Splits,
    /// How much the splits agree.
    Stability,
}

/// How good what is said is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
    /// It limits the list.
    Warn,
    /// It is being computed.
    Running,
    /// Of less weight.
    Aside,
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Number(f64),
    Interval(Interval),
}

/// A sentence with numbers in it, which the reader's page rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Words(Vec<Part>);

impl Words {
    fn text_of(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    fn number(value: f64) -> Self {
        Self(vec![Part::Number(value)])
    }

    fn interval(value: Interval) -> Self {
        Self(vec![Part::Interval(value)])
    }

    /// A mean over splits with its standard deviation, if there is one.
    fn mean(value: f64, sd: Option<f64>) -> Self {
        match sd {
            Some(sd) => Self::number(value).then(" ± ").with(sd),
            None => Self::number(value),
        }
    }

    fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    fn with(mut self, value: f64) -> Self {
        self.0.push(Part::Number(value));
        self
    }

    /// The sentence with this many decimals.
    pub fn text(&self, decimals: usize) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Number(value) => format!("{value:.decimals$}"),
            Part::Interval(Interval { value, lo, hi }) => {
                format!("{value:.decimals$} ({lo:.decimals$} to {hi:.decimals$})")
            }
        };
        self.0.iter().map(part).collect()
    }
}

/// One fact about an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub topic: Topic,
    /// What it is called, in at most 18 letters.
    pub label: &'static str,
    /// What is known.
    pub value: Words,
    pub tone: Tone,
    /// What to add where there is room; may be empty.
    pub detail: Words,
}

impl Statement {
    fn new(topic: Topic, label: &'static str, value: Words) -> Self {
        Self { topic, label, value, tone: Tone::Plain, detail: Words(Vec::new()) }
    }

    fn text(topic: Topic, label: &'static str, value: impl Into<String>) -> Self {
        Self::new(topic, label, Words::text_of(value))
    }

    fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    fn warn_if(self, is_bad: bool) -> Self {
        if is_bad { self.tone(Tone::Warn) } else { self }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Words::text_of(detail), ..self }
    }

    /// All of it with this many decimals.
    pub fn whole(&self, decimals: usize) -> String {
        let detail = self.detail.text(decimals);
        let gap = if detail.is_empty() { "" } else { "; " };
        format!("{}{gap}{detail}", self.value.text(decimals))
    }
}

/// Everything there is to say about the answer of a method, cautions and tables apart.
pub(super) fn of_method(info: &RunInfo, choice: &Choice, answer: &MethodAnswer) -> Vec<Statement> {
    let mut said = sizes(choice, answer);
    said.push(validation(info, choice, answer.tested.as_ref()));
    said.extend(answer.tested.iter().flat_map(|tested| of_tested(tested, info)));
    said.extend(answer.transfer.iter().flat_map(transfer));
    said.extend(worst_subgroup(answer));
    said.extend(answer.drift.as_ref().map(drift));
    said.extend(chance(info, answer));
    said.extend(splits(info, answer));
    said
}

fn sizes(choice: &Choice, answer: &MethodAnswer) -> Vec<Statement> {
    let splits = answer.splits;
    let size = match choice.size {
        Some(size) => Statement::text(Topic::Size, "size", format!("{size}, chosen by hand")),
        None => {
            let rule = choice.rule.entry().map(|entry| format!("by the {}", entry.label));
            Statement::text(Topic::Size, "size", answer.chosen.value_words(splits))
                .detail(rule.unwrap_or_default())
        }
    };
    let others = answer.beside.iter().filter_map(|rule| {
        let words = rule.value_words(splits);
        Some(format!("{}: {words}", rule.stop.entry()?.symbol))
    });
    let others: Vec<String> = others.collect();
    let others = (!others.is_empty())
        .then(|| Statement::text(Topic::Size, "other rules", others.join("; ")).tone(Tone::Aside));
    std::iter::once(size).chain(others).collect()
}

/// Whether the procedure was tested on rows that it never saw, and if not, why.
fn validation(info: &RunInfo, choice: &Choice, tested: Option<&Tested>) -> Statement {
    let say = |words: String| Statement::text(Topic::Validation, "tested", words);
    let Some(tested) = tested else {
        if info.folds > 0 && choice.size.is_some() {
            return say("not at this size: the folds test the procedure at its own size".to_owned())
                .tone(Tone::Warn);
        }
        let why = match info.spec.validate {
            None => " (--validate none)".to_owned(),
            Some(_) if info.spec.split.splits_from.is_some() => " (--splits-from)".to_owned(),
            Some(folds) => format!(": a class is too small for {folds} folds"),
        };
        return say(format!("only on the splits' test rows{why}")).tone(Tone::Warn).detail(
            "for numbers to quote, test it with --validate 5, or fit a model and validate it on another file",
        );
    };
    if tested.folds < tested.of_folds {
        return say(format!("fold {} of {} is running", tested.folds + 1, tested.of_folds))
            .tone(Tone::Running);
    }
    let rows = tested.performance.as_ref().map_or(0, |performance| performance.rows);
    let folds = tested.of_folds;
    let tone = if tested.without_list == 0 { Tone::Good } else { Tone::Warn };
    let without = match tested.without_list {
        0 => String::new(),
        n => format!("; in {n} of them no list was chosen"),
    };
    say(format!("on {} it never saw, {folds} folds{without}", counted(rows, "row")))
        .tone(tone)
        .detail("the whole procedure was tested: quote these numbers, with their 95 % intervals")
}

/// What a test by folds measured, the accuracy first, and how much the lists of the folds agree.
fn of_tested(tested: &Tested, info: &RunInfo) -> Vec<Statement> {
    let Some(performance) = &tested.performance else { return Vec::new() };
    let target = 1.0 - info.spec.epsilon;
    let mut said = of_performance(performance, info.classes.len(), Some(target));
    if let (Some(&smallest), Some(&largest)) =
        (tested.sizes.iter().min(), tested.sizes.iter().max())
    {
        let sizes = if smallest == largest {
            count_features(smallest)
        } else {
            format!("{smallest} to {}", count_features(largest))
        };
        let words = sizes
            + &agreement(tested.stability, &tested.in_every_list, tested.lists.len(), "folds");
        said.push(Statement::text(Topic::Tested, "lists of the folds", words));
    }
    let covered = performance.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    let worst = covered.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    said.extend(worst.map(|(class, coverage)| {
        let words = Words::text_of(format!("'{}' covered ", printable(&info.classes[class.class])))
            .with(coverage.value)
            .then(format!(" in {}", counted(class.rows, "row")));
        Statement::new(Topic::Worst, "worst class", words).warn_if(coverage.hi < target)
    }));
    said
}

/// `; 2 in all 5 lists; stability 0.47 (0.27 to 0.67), fair`.
fn agreement(stability: Option<Stability>, shared: &[String], lists: usize, of: &str) -> String {
    let shared =
        if lists > 1 { format!("; {} in all {lists} lists", shared.len()) } else { String::new() };
    let stability = stability.map(|own| format!("; stability {}", own.words(of)));
    shared + &stability.unwrap_or_default()
}

/// What was measured on rows whose class is known; the target is that of the coverage.
pub fn of_performance(
    performance: &Performance,
    classes: usize,
    target: Option<f64>,
) -> Vec<Statement> {
    let say = |label, value| Statement::new(Topic::Tested, label, value);
    let interval = |label, value: Interval| say(label, Words::interval(value));
    let (accuracy, rate) = (performance.accuracy, performance.no_information_rate);
    let mut coverage = Words::interval(performance.coverage);
    if let Some(target) = target {
        coverage = coverage.then(format!("; target {}", target_text(target)));
    }
    let mut said = vec![
        say("accuracy", Words::interval(accuracy).then("; largest class ").with(rate))
            .warn_if(accuracy.lo <= rate),
        interval("balanced accuracy", performance.balanced_accuracy),
        interval("macro F1", performance.f1_macro),
    ];
    said.extend(performance.auc.map(|auc| interval("AUC", auc)));
    said.extend([
        say("coverage", coverage),
        say(
            "set size",
            Words::interval(performance.set_size).then(format!(" of {classes} classes")),
        ),
        interval("empty sets", performance.empty).warn_if(performance.empty.value > MANY_EMPTY),
    ]);
    said
}

/// `0.9` without noise in its last digits.
fn target_text(target: f64) -> String {
    ((target * 1e9).round() / 1e9).to_string()
}

/// The site that does worst, how much the lists of the sites agree, and how well the features tell
/// the sites apart.
fn transfer(transfer: &Transfer) -> Vec<Statement> {
    let worst = transfer.sites.iter().find_map(|site| Some((site, site.measured.as_ref()?)));
    let worst = worst.map(|(site, own)| {
        let words = Words::text_of(format!("'{}' left out: accuracy ", printable(&site.site)))
            .with(own.accuracy.value)
            .then(", covered ")
            .with(own.coverage.value);
        Statement::new(Topic::Worst, "worst site", words).warn_if(own.shifted)
    });
    let lists = transfer.stability.map(|own| {
        let words = format!(
            "they agree with stability {}; {} in every list",
            own.words("sites"),
            count_features(transfer.in_every_list.len())
        );
        Statement::text(Topic::Transfer, "lists of the sites", words)
    });
    let probe = transfer.probe.as_ref().map(|own| probe(own, &transfer.column));
    worst.into_iter().chain(lists).chain(probe).collect()
}

/// How well the features of the list predict the site, beside what the class alone tells about it.
fn probe(probe: &ProbeAnswer, column: &str) -> Statement {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let Interval { value, lo, hi } = probe.accuracy;
    let auc = probe.auc.map_or_else(String::new, |auc| format!("; AUC {auc:.3}"));
    let so = if probe.tells_apart {
        "so they tell more about it than the class does: a batch effect may be among them"
    } else {
        "so they tell no more about it than the class does"
    };
    let words = format!(
        "the selected features predict the {} correctly for {} % of the rows ({} to {} %{auc}); knowing only the class does so for {} %, {so}",
        printable(column),
        percent(value),
        percent(lo),
        percent(hi),
        percent(probe.class_rate),
    );
    Statement::text(Topic::Transfer, "batch effect", words).warn_if(probe.tells_apart)
}

fn worst_subgroup(answer: &MethodAnswer) -> Option<Statement> {
    let own = answer.subgroups.first()?;
    let name = format!("{} '{}' covered ", printable(&own.column), printable(&own.level));
    let words = Words::text_of(name)
        .with(own.coverage.value)
        .then(format!(" in {}", counted(own.rows, "row")));
    Some(Statement::new(Topic::Worst, "subgroup", words).warn_if(own.below))
}

/// Whether p-values drift over time or over the file.
fn drift(drift: &Drift) -> Statement {
    let over = match &drift.column {
        None => "the order of the file".to_owned(),
        Some(column) => format!("'{}'", printable(column)),
    };
    let words = format!(
        "rank correlation {} of validated p-values with {over} within classes, {}",
        two_decimals(drift.trend.rho),
        p_words(drift.trend.p),
    );
    let of = format!("{} rows or groups, {} permutations", drift.trend.n, drift.trend.permutations);
    Statement::text(Topic::Transfer, "drift", words).detail(of).warn_if(drift.drifts)
}

/// What permuted labels give, and how many permutations there are and why.
fn chance(info: &RunInfo, answer: &MethodAnswer) -> Vec<Statement> {
    let say = |label, words: String| Statement::text(Topic::Chance, label, words);
    let asked = permutation_words(info);
    let Some(chance) = &answer.by_chance else {
        return vec![match info.permutations {
            0 => say("by chance", asked).tone(Tone::Aside),
            _ if answer.chosen.size.is_none() => {
                say("by chance", "nothing to compare without a size".to_owned()).tone(Tone::Aside)
            }
            all => say("by chance", format!("0 of {all} permutations done")).tone(Tone::Running),
        }];
    };
    let done = if chance.permutations < chance.of_permutations {
        format!("{} of {} permutations", chance.permutations, chance.of_permutations)
    } else {
        counted(chance.permutations, "permutation")
    };
    let counts =
        format!("some feature in up to {} of {} splits ({done})", chance.count, answer.splits);
    let whole = chance.p.map(|p| {
        say("whole list", format!("p {}{}", rounded_p(p), where_compared(chance)))
            .warn_if(chance.is_not_beyond())
    });
    let counts =
        say("by chance", counts).detail(format!("95 % of the permutations give no more; {asked}"));
    std::iter::once(counts).chain(whole).collect()
}

/// Of what the p of the whole is one.
fn where_compared(chance: &ByChance) -> String {
    match (chance.compared, chance.compared_at) {
        (_, Some(size)) if chance.size_is_by_hand => {
            format!(" at the best size, {size}: no test of this list")
        }
        (Compared::FixedSize, _) => " at this size".to_owned(),
        (Compared::BestSize, _) => ", real and permuted labels each at their best size".to_owned(),
    }
}

/// What the splits' own subsets achieved, and how much they agree.
fn splits(info: &RunInfo, answer: &MethodAnswer) -> Vec<Statement> {
    let stability = answer.stability_judged().map(|own| {
        let tone = match own.band {
            Some(StabilityBand::Poor) => Tone::Warn,
            Some(StabilityBand::Fair) | None => Tone::Plain,
            Some(StabilityBand::Good) => Tone::Good,
        };
        Statement::text(Topic::Stability, "stability", own.words("splits")).tone(tone)
    });
    let Some(achieved) = &answer.achieved else { return stability.into_iter().collect() };
    let say = |label, value| Statement::new(Topic::Splits, label, value);
    let whose = match answer.splits {
        1 => "the split that chose the list, on its own test rows".to_owned(),
        n => format!("the {n} splits that chose the list, on their own test rows"),
    };
    let mut notes = vec!["this describes the selection and is not to be quoted"];
    if answer.splits > 1 {
        notes.push(
            "± is the standard deviation over splits, which share rows, not the error of the mean",
        );
    }
    if achieved.leave_one_split_out {
        notes.push("the size was chosen on these rows, so each split is measured at the size that the others choose");
    }
    let target = target_text(1.0 - info.spec.epsilon);
    let mut coverage =
        say("coverage", Words::number(achieved.coverage).then(format!("; target {target}")));
    if let Some((lo, hi)) = achieved.coverage_band {
        coverage.detail =
            Words::text_of("95 % band of one valid split ").with(lo).then(" to ").with(hi);
    }
    let rate = info.no_information_rate();
    let accuracy = Words::mean(achieved.accuracy, achieved.accuracy_sd);
    let set_size = Words::mean(achieved.inefficiency, achieved.inefficiency_sd);
    let headline = Statement::text(Topic::Selection, "splits", whose).detail(notes.join("; "));
    let measured = [
        say("accuracy", accuracy.then("; largest class ").with(rate)),
        coverage,
        say("set size", set_size.then(format!(" of {} classes", info.classes.len()))),
    ];
    std::iter::once(headline).chain(measured).chain(stability).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_says_what_its_numbers_mean() {
        let mut own = ProbeAnswer {
            sites: 3,
            accuracy: Interval { value: 0.317, lo: 0.268, hi: 0.372 },
            no_information_rate: 0.34,
            class_rate: 0.36,
            auc: Some(0.512),
            tells_apart: false,
        };
        assert_eq!(
            probe(&own, "hospital").whole(2),
            "the selected features predict the hospital correctly for 31.7 % of the rows (26.8 to 37.2 %; AUC 0.512); knowing only the class \
             does so for 36.0 %, so they tell no more about it than the class does"
        );
        own.tells_apart = true;
        let said = probe(&own, "hospital");
        assert!(
            said.tone == Tone::Warn && said.whole(2).ends_with("a batch effect may be among them")
        );
    }

    #[test]
    fn numbers_are_rounded_by_the_page_that_shows_them() {
        let own = Interval { value: 0.8126, lo: 0.7614, hi: 0.8491 };
        let words = Words::interval(own).then("; largest class ").with(0.5412);
        assert_eq!(words.text(2), "0.81 (0.76 to 0.85); largest class 0.54");
        assert_eq!(words.text(3), "0.813 (0.761 to 0.849); largest class 0.541");
    }
}
