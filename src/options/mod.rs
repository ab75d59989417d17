//! The only reader of the command line, the environment and the working directory.

mod argv;

use clap::Parser;
use std::fmt;
use std::path::PathBuf;

/// The first argument of a kernel process.
const KERNEL: &str = "kernel";

/// A Python notebook that can grow again from any cell it ever ran.
///
/// Use `ratoon -- NAME` to open a notebook whose name is also a command.
#[derive(Clone, Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
pub struct Options {
    /// The command to run instead of the server.
    #[command(subcommand)]
    pub subcommand: Option<Subcommand>,

    /// The notebook to open.
    #[arg(default_value = "main")]
    pub name: String,

    /// Address to listen on. Port 0 takes any free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub bind: String,

    /// The owner's token [default: a new random token].
    #[arg(long, value_name = "SECRET")]
    pub token: Option<Secret>,

    /// The Python interpreter that runs cells [default: that of $VIRTUAL_ENV, else the one that
    /// Ratoon was built with].
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// The directory in which cells run [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Seconds after which a run is interrupted, unless its request sets a timeout [default:
    /// never].
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,

    /// Memory that a run may add to its state, for example 4G, unless its request sets a limit.
    /// Memory of subprocesses counts; memory that is reserved but unused does not. A run that
    /// exceeds the limit is ended [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub run_memory: Option<u64>,

    /// Niceness of cell processes, from 0 to 19. At 10, a cell gets a ninth of the processor time
    /// of an ordinary program on the same core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=19))]
    pub nice: u8,

    /// Maximum number of states that a notebook keeps in memory, each as a process. Other states
    /// are on disk and are loaded when they are used [default: 1000].
    #[arg(long, value_name = "COUNT")]
    pub max_frozen: Option<usize>,

    /// Maximum memory of a notebook's states, for example 8G [default: half of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,

    /// Write no checkpoints automatically. After a restart of the server, a state without a
    /// checkpoint can be restored only by running its cells again.
    #[arg(long)]
    pub no_checkpoints: bool,

    /// Another address at which browsers reach this server, such as that of a proxy. May be given
    /// several times.
    #[arg(long, value_name = "HOST:PORT")]
    pub reachable_as: Vec<String>,

    /// Allow --bind to an address that other machines can reach. Anyone with the token can run code
    /// as you, and without a TLS proxy anyone who listens on the network can read the token.
    #[arg(long)]
    pub dangerously_listen_beyond_loopback: bool,

    /// The value of $VIRTUAL_ENV.
    #[arg(skip)]
    pub virtual_env: Option<PathBuf>,

    /// The current directory.
    #[arg(skip)]
    pub current_dir: Option<PathBuf>,

    /// Directory for Ratoon's own data: `$XDG_DATA_HOME/ratoon`, else `~/.local/share/ratoon`.
    #[arg(skip)]
    pub data_dir: Option<PathBuf>,

    /// Directory of this install's key: `$XDG_CONFIG_HOME/ratoon`, else `~/.config/ratoon`.
    #[arg(skip)]
    pub config_dir: Option<PathBuf>,
}

/// Parses a number of bytes, such as `1500000`, `800M` or `8G`.
fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("use a number of bytes, or one with K, M, G or T".into()),
    };
    let count: u64 = digits.parse().map_err(|_| "it does not begin with a number")?;
    count.checked_mul(1 << shift).ok_or_else(|| "it is too large".into())
}

/// Commands for a notebook that no server has open.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Subcommand {
    /// Verify every digest and reference of a notebook, and report damage.
    Check {
        /// The notebook's directory, NAME.ratoon.
        dir: PathBuf,
    },
    /// Remove files from a notebook's directory that none of its states needs.
    Gc {
        /// The notebook's directory, NAME.ratoon.
        dir: PathBuf,
    },
    /// Write a lineage of a notebook to a file: its cells with their outputs, and its drafts.
    Export {
        /// The notebook's directory, NAME.ratoon, or its name.
        notebook: PathBuf,
        /// The last state of the lineage, by its name or id [default: the newest].
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// `ipynb`, `py` or `html`.
        #[arg(long = "as", value_name = "FORMAT", default_value = "ipynb")]
        format: String,
        /// The file to write, or - for stdout. An existing file is replaced. [default: NAME.FORMAT
        /// in the current directory, which must not exist yet]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Create a notebook from an .ipynb, or a .py with `# %%`. Its cells do not run.
    Import {
        /// The file.
        file: PathBuf,
        /// Name of the notebook; NAME.ratoon is created in the current directory [default: the
        /// file's name].
        name: Option<String>,
    },
    /// Trust the checkpoints of a notebook from another install. Their code then runs when their
    /// states are used.
    ///
    /// Shows what the checkpoints contain and asks before it trusts them.
    Trust {
        /// The notebook's directory, NAME.ratoon.
        dir: PathBuf,
        /// Trust them without asking, for use in scripts.
        #[arg(long, short)]
        yes: bool,
    },
}

/// A text that `Debug` does not show.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// The secret in clear text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether this process is a kernel.
pub fn is_kernel() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == KERNEL)
}

impl Options {
    /// Reads the options. Exits on errors and for help. Must be called once, before any thread
    /// starts: it wipes the token from the command line.
    pub fn read() -> Self {
        let mut options = Self::parse();
        if let Some(token) = &options.token {
            argv::wipe(token.reveal());
        }
        options.virtual_env = std::env::var_os("VIRTUAL_ENV").filter(|v| !v.is_empty()).map(PathBuf::from);
        options.current_dir = std::env::current_dir().ok();
        let of = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let share = of("XDG_DATA_HOME").or_else(|| of("HOME").map(|home| home.join(".local/share")));
        options.data_dir = share.map(|dir| dir.join("ratoon"));
        let config = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|home| home.join(".config")));
        options.config_dir = config.map(|dir| dir.join("ratoon"));
        options
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Options {
        Options::try_parse_from([&["ratoon"], args].concat()).unwrap()
    }

    #[test]
    fn defaults() {
        let options = parsed(&[]);
        assert_eq!((options.name.as_str(), options.bind.as_str()), ("main", "127.0.0.1:8080"));
        assert!(
            options.token.is_none()
                && options.timeout.is_none()
                && !options.dangerously_listen_beyond_loopback
        );
    }

    #[test]
    fn sizes_have_units() {
        let sizes = ["0", "1500000", "2k", "8G", "1MiB", "3gb"].map(|text| size(text).unwrap());
        assert_eq!(sizes, [0, 1_500_000, 2048, 8 << 30, 1 << 20, 3 << 30]);
        assert!(["", "G", "-1", "1x", "99999999999T"].iter().all(|text| size(text).is_err()));
    }

    #[test]
    fn a_command_is_told_from_a_name() {
        assert!(matches!(parsed(&["check", "x.ratoon"]).subcommand, Some(Subcommand::Check { .. })));
        for (args, name) in [(&["other", "--bind", "x:1"][..], "other"), (&["--", "check"], "check")] {
            let options = parsed(args);
            assert_eq!((options.name.as_str(), options.subcommand.is_none()), (name, true));
        }
        assert!(Options::try_parse_from(["ratoon", "--bind", "x:1", "gc", "x.ratoon"]).is_err());
    }

    #[test]
    fn a_token_is_taken_in_both_spellings_and_not_shown() {
        for args in [&["--token", "test123"][..], &["--token=test123"]] {
            let options = parsed(args);
            assert_eq!(options.token.as_ref().unwrap().reveal(), "test123");
            assert!(!format!("{options:?}").contains("test123"));
        }
    }
}
