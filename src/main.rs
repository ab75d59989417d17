//! `ratoon` serves notebooks; `ratoon kernel` is the process in which their cells run.

use ratoon::{commands, kernel, options, serve};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread exists: a kernel forks, and has one thread for all its life.
    if options::is_kernel() {
        return kernel::child_main();
    }
    let options = options::Options::read();
    match &options.care {
        Some(care) => commands::run(care, &options),
        None => serve::run(options),
    }
}
