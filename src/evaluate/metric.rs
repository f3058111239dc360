//! The metrics: one entry each, from which tables, figures, the page, comparisons and the dashboard
//! take their names and values.

use super::{Tally, macro_scores, ratio};

/// What values a metric can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricRange {
    /// From 0 to 1.
    Share,
    /// From 0 up; a number of labels.
    Labels,
}

/// Whether and how the page's table by size shows a metric, with the heading of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageColumn {
    /// Mean and standard deviation over splits.
    MeanAndSd(&'static str),
    /// The mean alone.
    Mean(&'static str),
    /// Only metrics.csv has it.
    Absent,
}

/// All about one metric.
struct MetricEntry {
    /// Its comment: what it is.
    meaning: &'static str,
    /// Its name in tables.
    key: &'static str,
    /// Its name in headings and legends.
    label: &'static str,
    /// Its name in a narrow heading of the dashboard; none if the dashboard has no panel of it.
    panel: Option<&'static str>,
    /// Its column on the page.
    column: PageColumn,
    range: MetricRange,
    /// Reads it off what was counted: 0 where it is undefined, not a number where it was not
    /// counted.
    value: fn(&Tally) -> f64,
}

macro_rules! metrics {
    ($($(#[doc = $meaning:literal])* $name:ident { $($field:ident: $value:expr,)* })*) => {
        /// A metric of the test rows of one model (docs/method.md sections 6 and 7), in the order
        /// of metrics.csv.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric {
            $($(#[doc = $meaning])* $name,)*
        }

        impl Metric {
            /// Every metric, in the order of metrics.csv.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            fn entry(self) -> MetricEntry {
                match self {
                    $(Self::$name => MetricEntry {
                        meaning: concat!($($meaning),*),
                        $($field: $value,)*
                    },)*
                }
            }
        }
    };
}

metrics! {
    /// Share of test rows whose prediction set holds their class.
    Coverage {
        key: "coverage",
        label: "coverage",
        panel: Some("coverage"),
        column: PageColumn::MeanAndSd("coverage"),
        range: MetricRange::Share,
        value: |tally| ratio(tally.covered.iter().sum::<u32>(), tally.rows()),
    }
    /// Mean number of classes in a prediction set.
    Inefficiency {
        key: "inefficiency",
        label: "inefficiency",
        panel: Some("set size"),
        column: PageColumn::MeanAndSd("inefficiency"),
        range: MetricRange::Labels,
        value: |tally| ratio(tally.set_sizes.iter().sum::<u32>(), tally.rows()),
    }
    /// Share of test rows whose prediction set is exactly their class.
    Certainty {
        key: "certainty",
        label: "certainty",
        panel: Some("certain"),
        column: PageColumn::Mean("certainty"),
        range: MetricRange::Share,
        value: |tally| ratio(tally.certain, tally.rows()),
    }
    /// Share of prediction sets with all classes.
    Uncertainty {
        key: "uncertainty",
        label: "uncertainty",
        panel: Some("uncert."),
        column: PageColumn::Mean("uncertainty"),
        range: MetricRange::Share,
        value: |tally| ratio(tally.full, tally.rows()),
    }
    /// Share of prediction sets with no class.
    Mistrust {
        key: "mistrust",
        label: "mistrust",
        panel: Some("mistrust"),
        column: PageColumn::Mean("mistrust"),
        range: MetricRange::Share,
        value: |tally| ratio(tally.empty, tally.rows()),
    }
    /// Mean over test rows of the sum of the p-values of all classes.
    SScore {
        key: "s_score",
        label: "sum of p-values",
        panel: None,
        column: PageColumn::Absent,
        range: MetricRange::Labels,
        value: |tally| ratio(tally.p_sum, tally.rows()),
    }
    /// Observed fuzziness: mean over test rows of the sum of the p-values of the wrong classes.
    Fuzziness {
        key: "fuzziness",
        label: "observed fuzziness",
        panel: None,
        column: PageColumn::Mean("fuzziness"),
        range: MetricRange::Labels,
        value: |tally| tally.fuzziness(),
    }
    /// Mean over test rows of the highest p-value.
    Credibility {
        key: "credibility",
        label: "credibility",
        panel: None,
        column: PageColumn::Absent,
        range: MetricRange::Share,
        value: |tally| ratio(tally.p_max, tally.rows()),
    }
    /// Share of test rows whose class has the highest decision value.
    Accuracy {
        key: "accuracy",
        label: "accuracy",
        panel: Some("accuracy"),
        column: PageColumn::MeanAndSd("accuracy"),
        range: MetricRange::Share,
        value: |tally| macro_scores(&tally.confusion, tally.classes()).accuracy,
    }
    /// Mean over classes of the precision of the class with the highest decision value.
    PrecisionMacro {
        key: "precision_macro",
        label: "precision (macro)",
        panel: None,
        column: PageColumn::Mean("precision"),
        range: MetricRange::Share,
        value: |tally| macro_scores(&tally.confusion, tally.classes()).precision,
    }
    /// Mean over classes of recall: the balanced accuracy.
    RecallMacro {
        key: "recall_macro",
        label: "balanced accuracy",
        panel: None,
        column: PageColumn::Mean("balanced accuracy"),
        range: MetricRange::Share,
        value: |tally| macro_scores(&tally.confusion, tally.classes()).recall,
    }
    /// Area under the ROC curve of decision values, one class against the rest, mean over classes.
    Auc {
        key: "auc",
        label: "AUC",
        panel: None,
        column: PageColumn::Mean("AUC"),
        range: MetricRange::Share,
        value: |tally| tally.auc().unwrap_or(f64::NAN),
    }
    /// Mean over classes of F1.
    F1Macro {
        key: "f1_macro",
        label: "macro F1",
        panel: Some("macro F1"),
        column: PageColumn::Mean("F1"),
        range: MetricRange::Share,
        value: |tally| macro_scores(&tally.confusion, tally.classes()).f1,
    }
}

impl Metric {
    /// Its name in tables.
    pub fn key(self) -> &'static str {
        self.entry().key
    }

    /// What it is, in a sentence.
    pub fn meaning(self) -> &'static str {
        self.entry().meaning
    }

    /// Its name in headings and legends.
    pub fn label(self) -> &'static str {
        self.entry().label
    }

    /// Its name where there is little room.
    pub fn short_label(self) -> &'static str {
        let entry = self.entry();
        entry.panel.unwrap_or(entry.label)
    }

    /// Its column on the page.
    pub fn column(self) -> PageColumn {
        self.entry().column
    }

    /// The smallest and the largest value that it can have.
    pub fn bounds(self) -> (f64, f64) {
        match self.entry().range {
            MetricRange::Share => (0.0, 1.0),
            MetricRange::Labels => (0.0, f64::INFINITY),
        }
    }

    /// Its value on the test rows that were counted: 0 where there are none; NaN where it is not
    /// defined, as the AUC of one class.
    pub fn value(self, tally: &Tally) -> f64 {
        (self.entry().value)(tally)
    }

    /// The metrics that have a panel in the dashboard, in its order.
    pub fn panels() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|metric| metric.entry().panel.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_off_what_was_counted() {
        // Four rows of three classes: {0} right, all labels, none, {0} wrong.
        let tally = Tally {
            confusion: vec![1, 1, 0, 1, 1, 0, 0, 0, 0],
            covered: vec![2, 0, 0],
            set_sizes: vec![4, 1, 0],
            certain: 1,
            full: 1,
            empty: 1,
            p_sum: 2.65,
            p_max: 1.9,
            p_true: 1.65,
            // Class 0: 3 of its 4 pairs are in the right order; class 1: 2 of 4.
            concordant: vec![6, 4, 0],
        };
        let expected = [
            ("coverage", 0.5),
            ("inefficiency", 1.25),
            ("certainty", 0.25),
            ("uncertainty", 0.25),
            ("mistrust", 0.25),
            ("s_score", 0.6625),
            ("fuzziness", 0.25),
            ("credibility", 0.475),
            ("accuracy", 0.5),
            ("precision_macro", 1.0 / 3.0),
            ("recall_macro", 1.0 / 3.0),
            ("auc", 0.625),
            ("f1_macro", 1.0 / 3.0),
        ];
        assert_eq!(Metric::ALL.len(), expected.len());
        for (metric, (key, value)) in Metric::ALL.iter().zip(expected) {
            assert_eq!(metric.key(), key);
            assert!(
                (metric.value(&tally) - value).abs() < 1e-15,
                "{key}: {}",
                metric.value(&tally)
            );
            let (lowest, highest) = metric.bounds();
            assert!((lowest..=highest).contains(&value));
        }
    }

    #[test]
    fn no_rows_give_zeros() {
        let undefined = |metric: &&Metric| **metric != Metric::Auc;
        assert!(
            Metric::ALL.iter().filter(undefined).all(|metric| metric.value(&Tally::new(2)) == 0.0)
        );
    }
}
