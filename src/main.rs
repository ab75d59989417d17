//! `ratoon` serves notebooks; `ratoon kernel` is a process that runs their cells.

use ratoon::{kernel, options, serve, subcommands};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Must come before any thread starts: a kernel forks, and is always single-threaded.
    if options::is_kernel() {
        return kernel::child_main();
    }
    let options = options::Options::read();
    match &options.subcommand {
        Some(command) => subcommands::run(command, &options),
        None => serve::run(options),
    }
}
