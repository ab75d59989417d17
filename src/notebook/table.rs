//! Tables: rows of a data frame or an array, as the grid of the page asks for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which rows of a data frame are wanted, and in which order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableView {
    /// A name, an attribute or an item whose value is a DataFrame, a Series or an array of one or
    /// two dimensions: `df`, `frames["a"]`, `images[0]` or `Out[3]`.
    pub expression: String,
    /// The column to sort by. Default: the order of the data frame.
    #[serde(default)]
    pub sort: Option<TableSort>,
    /// The conditions that a row has to meet, all of them.
    #[serde(default)]
    pub filters: Vec<TableFilter>,
    /// Number of matching rows to skip.
    #[serde(default)]
    pub offset: u64,
    /// Maximum number of rows, at most 5000. An answer with long texts has fewer.
    pub limit: u32,
    /// The form of the rows.
    #[serde(default)]
    pub form: TableForm,
    /// The numbers of the columns to send. Default: all. CSV and TSV then leave out the numbers of
    /// rows that pandas counts by itself.
    #[serde(default)]
    pub columns: Option<Vec<u32>>,
    /// Whether CSV and TSV begin with the column names. Default: if `offset` is 0.
    #[serde(default)]
    pub names: Option<bool>,
    /// Whether to summarise the columns of the matching rows.
    #[serde(default)]
    pub summaries: bool,
}

/// The order of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSort {
    /// The number of the column, from 0. The levels of an index are the first columns.
    pub column: u32,
    /// Whether the largest value comes first. Missing values come last in both cases.
    #[serde(default)]
    pub descending: bool,
}

/// A condition that a row has to meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableFilter {
    /// The number of the column, from 0.
    pub column: u32,
    /// The kind of condition.
    pub is: Condition,
    /// What the column is compared with. Not used by `missing` and `present`.
    #[serde(default)]
    pub value: String,
}

/// The kind of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The value's text contains the text; case is ignored.
    Contains,
    /// The value is equal.
    Equal,
    /// The value differs, or is missing.
    Unequal,
    /// The value is smaller.
    Less,
    /// The value is smaller or equal.
    AtMost,
    /// The value is larger.
    Greater,
    /// The value is larger or equal.
    AtLeast,
    /// There is no value: NaN, NaT, None or null.
    Missing,
    /// There is a value.
    Present,
}

/// The form in which rows are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableForm {
    /// Texts for a table: numbers are rounded, long texts are cut.
    #[default]
    Cells,
    /// Comma-separated text with exact numbers.
    Csv,
    /// The same, separated by tabs.
    Tsv,
}

/// The answer of a kernel process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableAnswer {
    /// The rows.
    Found(Box<Table>),
    /// There is no such table.
    Refused {
        /// The reason.
        why: String,
        /// The remedy.
        how: String,
    },
}

/// Rows of a data frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The columns, at most 200. The levels of an index come first.
    pub columns: Vec<TableColumn>,
    /// Number of further columns.
    pub columns_left_out: u32,
    /// Number of rows of the data frame.
    pub total: u64,
    /// Number of rows that meet all conditions.
    pub matching: u64,
    /// Number of rows in this answer.
    pub count: u32,
    /// The texts of each row, null for a missing value. Null unless the form is `cells`.
    pub rows: Option<Vec<Vec<Option<String>>>>,
    /// The rows as CSV or TSV. Null if the form is `cells`.
    pub text: Option<String>,
    /// The summaries, if they were wanted.
    pub summaries: Option<TableSummaries>,
}

/// A column of a data frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// The name; the parts of a tuple are separated by commas.
    pub name: String,
    /// The data type, as pandas or polars writes it.
    pub dtype: String,
    /// What the values can be compared with.
    pub kind: ColumnKind,
    /// Whether the column is a level of the index.
    pub is_index: bool,
}

/// What the values of a column can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Dates, times and durations.
    Time,
    /// True and False.
    Bool,
    /// Texts, and values of all other types.
    Text,
}

/// Summaries of the columns of the matching rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableSummaries {
    /// A summary for each column. Null for rows that are only counted, and if time was short.
    pub columns: Vec<Option<ColumnSummary>>,
    /// Number of rows that the summaries cover, if they cover only some.
    pub sampled: Option<u32>,
}

/// A summary of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ColumnSummary {
    /// Of numbers and times.
    Histogram {
        /// The number of values in each of 20 equal parts of the range.
        bars: Vec<u32>,
        /// The smallest value.
        low: String,
        /// The largest value.
        high: String,
        /// Number of missing values.
        missing: u32,
    },
    /// Of other values.
    Frequent {
        /// Number of different values.
        distinct: u32,
        /// The most frequent values, at most three, and how often each occurs.
        frequent: Vec<FrequentValue>,
        /// Number of missing values.
        missing: u32,
    },
}

/// A value that occurs often in a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrequentValue {
    /// The value as text.
    pub text: String,
    /// Number of rows with the value.
    pub count: u32,
}
