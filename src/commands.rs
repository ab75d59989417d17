//! `ratoon check`, `ratoon gc`, `ratoon trust`: what is done to a notebook that no server has open.

use crate::options::{Care, Options};
use crate::store::{self, InstallKey, StoreError};
use std::io::{self, Write};
use std::process::ExitCode;

/// Does what was asked for. 0: all is well; 1: something is damaged, or it could not be done.
pub fn run(care: &Care, options: &Options) -> ExitCode {
    match perform(care, options) {
        Ok((lines, code)) => {
            let mut out = io::stdout().lock();
            // Whoever asked may not listen; the exit code says it too.
            let _ = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
            code
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "ratoon cannot {}: {}\n  {}", error.what, error.why, error.how);
            ExitCode::FAILURE
        }
    }
}

fn perform(care: &Care, options: &Options) -> Result<(Vec<String>, ExitCode), StoreError> {
    match care {
        Care::Check { dir } => {
            let checked = store::check(dir)?;
            if checked.damage.is_empty() {
                return Ok((vec![format!("nothing is damaged: {}", checked.summary)], ExitCode::SUCCESS));
            }
            let found = format!("{} damaged: {}", checked.damage.len(), checked.summary);
            Ok((checked.damage.into_iter().chain([found]).collect(), ExitCode::FAILURE))
        }
        Care::Gc { dir } => {
            let (files, bytes) = store::gc(dir)?;
            Ok((vec![format!("{files} files removed, {bytes} bytes freed")], ExitCode::SUCCESS))
        }
        Care::Trust { dir } => {
            let Some(config_dir) = &options.config_dir else {
                return Err(StoreError {
                    what: "find the key of this install".into(),
                    why: "neither HOME nor XDG_CONFIG_HOME names a directory".into(),
                    how: "set HOME".into(),
                });
            };
            let trusted = store::trust(dir, &InstallKey::load_or_make(config_dir)?)?;
            let mut lines: Vec<String> = trusted
                .iter()
                .map(|t| {
                    let id = if t.name == t.id.as_str() { String::new() } else { format!(" ({})", t.id) };
                    format!("{}{id}: {} names may be loaded with their code", t.name, t.entry_count)
                })
                .collect();
            lines.push(format!("{} checkpoints are trusted now that were not", trusted.len()));
            Ok((lines, ExitCode::SUCCESS))
        }
    }
}
