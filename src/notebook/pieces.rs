//! Serialises a whole notebook as JSON, piece by piece, while the JSON is sent.
//!
//! The outputs of a notebook can be many times larger than the limit for one run. So only one piece
//! of the JSON is in memory at a time, and the outputs are shared with the notebook and not copied.

use super::{Run, Snapshot};

/// Minimum size of a piece, in bytes. Only the last piece may be smaller. Small runs share a piece.
const MIN_PIECE_BYTES: usize = 64 * 1024;

/// The list of runs in the JSON of a snapshot without runs. The runs are inserted between the
/// brackets.
const NO_RUNS: &str = "\"runs\":[]";

/// The JSON of a snapshot, in pieces.
#[derive(Debug)]
pub struct Pieces {
    /// The JSON before the runs, and the JSON after them. `None` after it has been sent.
    before: Option<String>,
    behind: Option<String>,
    runs: std::vec::IntoIter<Run>,
    has_begun: bool,
}

impl Snapshot {
    /// Serialises the snapshot in pieces. The first piece begins with `before`, the last ends with
    /// `behind`.
    pub fn into_pieces(mut self, before: &str, behind: &str) -> Pieces {
        let runs = std::mem::take(&mut self.runs);
        let text = text_of(&self);
        // The last match is the key: no string after the key can match, because JSON escapes quotes
        // in strings.
        let at = text.rfind(NO_RUNS).map_or(text.len(), |at| at + NO_RUNS.len() - 1);
        let (head, tail) = text.split_at(at);
        Pieces {
            before: Some(format!("{before}{head}")),
            behind: Some(format!("{tail}{behind}")),
            runs: runs.into_iter(),
            has_begun: false,
        }
    }
}

impl Iterator for Pieces {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut piece = self.before.take().unwrap_or_default();
        while piece.len() < MIN_PIECE_BYTES {
            let Some(run) = self.runs.next() else {
                piece.push_str(&self.behind.take().unwrap_or_default());
                break;
            };
            if std::mem::replace(&mut self.has_begun, true) {
                piece.push(',');
            }
            piece.push_str(&text_of(&run));
        }
        (!piece.is_empty()).then_some(piece)
    }
}

fn text_of<T: serde::Serialize>(value: &T) -> String {
    // Serialising plain data into memory cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::notebook::{Asked, Base, ExecId, Notebook, Output, Outputs, RunStatus, StateId, StreamName};

    fn notebook(texts: &[String]) -> Notebook {
        let mut notebook = Notebook::new(NO_RUNS, 0.0);
        let label = Some(NO_RUNS.to_owned());
        notebook.state_mut(&StateId::root()).unwrap().label = label;
        for (n, text) in texts.iter().enumerate() {
            let on = Base::State(StateId::root());
            let mut outputs = Outputs::default();
            outputs.push(Output::stream(StreamName::Stdout, text.clone()));
            notebook.add_run(Run {
                exec_id: ExecId::new(format!("{n}")),
                on: on.clone(),
                code: NO_RUNS.into(),
                status: RunStatus::Ok,
                draft: None,
                exec_count: None,
                imported_cell: None,
                variant: false,
                outputs,
                error: None,
                prompt: None,
                started_at: None,
                duration_ms: None,
                state: None,
                asked: Asked { on, new_state_name: None },
                symbols: None,
                metric: None,
                worker: None,
                deleted_at: None,
                keepable: Default::default(),
                warnings: Vec::new(),
            });
        }
        notebook
    }

    #[test]
    fn the_pieces_are_the_text() {
        let texts = |sizes: &[usize]| sizes.iter().map(|n| "é\"".repeat(*n)).collect::<Vec<_>>();
        for sizes in [&[][..], &[0], &[1, 2, 3], &[100_000], &[10, 50_000, 10, 10, 200_000, 1]] {
            let snapshot = notebook(&texts(sizes)).snapshot(Vec::new());
            let whole = format!("<{}>", serde_json::to_string(&snapshot).unwrap());
            let pieces: Vec<String> = snapshot.into_pieces("<", ">").collect();
            assert_eq!(pieces.concat(), whole, "{sizes:?}");
            let longest = sizes.iter().max().copied().unwrap_or_default();
            assert!(pieces.iter().all(|p| p.len() < MIN_PIECE_BYTES + 4 * longest + 4096), "{sizes:?}");
        }
    }

    #[test]
    fn a_snapshot_copies_no_output() {
        let notebook = notebook(&["x".repeat(1000)]);
        let snapshot = notebook.snapshot(Vec::new());
        let own = notebook.runs().next().unwrap().outputs.items().as_ptr();
        assert_eq!(snapshot.runs[0].outputs.items().as_ptr(), own);
    }
}
