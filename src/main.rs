//! `ratoon` serves notebooks.

use ratoon::options::Subcommand;
use ratoon::{mcp_stdio, options, serve, subcommands};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = options::Options::read();
    match &options.subcommand {
        Some(Subcommand::Mcp(mcp)) => mcp_stdio::run(&options, mcp),
        Some(command) => subcommands::run(command, &options),
        None => serve::run(options),
    }
}
