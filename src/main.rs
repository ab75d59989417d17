//! `ratoon` serves notebooks; `ratoon kernel` is a process that runs their cells.

use ratoon::{kernel, options, serve, subcommands};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread starts: a kernel forks, and stays single-threaded for all its life.
    if options::is_kernel() {
        return kernel::child_main();
    }
    let options = options::Options::read();
    match &options.subcommand {
        Some(command) => subcommands::run(command, &options),
        None => serve::run(options),
    }
}
