//! The only reader of the command line, the environment and the working directory.

mod argv;

use crate::http::BaseUrl;
use crate::log::Level;
use crate::remote::StoreSettings;
use clap::Parser;
use std::fmt;
use std::path::PathBuf;

/// A Python notebook that can branch from any cell it ever ran.
///
/// Use `ratoon -- NAME` to open a notebook whose name is also a command.
#[derive(Clone, Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
pub struct Options {
    /// The command to run instead of the server.
    #[command(subcommand)]
    pub subcommand: Option<Subcommand>,

    /// The notebook to open. A new one named `demo` begins with an example.
    #[arg(default_value = "main")]
    pub name: String,

    /// Address to listen on. Port 0 takes any free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub bind: String,

    /// The owner's token [default: a new random token].
    #[arg(long, value_name = "SECRET")]
    pub token: Option<Secret>,

    /// The Python interpreter that runs cells, or the directory of its environment [default: that
    /// of $VIRTUAL_ENV, .venv in DIR, $CONDA_PREFIX, the one Ratoon is installed in, or python3].
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

    /// Let cells write only below this directory, and to temporary files of their own. May be given
    /// several times [default: everywhere].
    // Workers run cells without a sandbox.
    #[arg(long, value_name = "DIR", conflicts_with = "workers")]
    pub write: Vec<PathBuf>,

    /// Give cells no network: they can make no sockets.
    #[arg(long, conflicts_with = "workers")]
    pub no_network: bool,

    /// Offer no terminals. Without this, the owner can open shells in the browser.
    #[arg(long)]
    pub no_terminal: bool,

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

    /// End the server when nobody has been connected and no cell has run for this many seconds
    /// [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub exit_when_unused: Option<u64>,

    /// Another address at which browsers reach this server, such as that of a proxy. May be given
    /// several times.
    #[arg(long, value_name = "HOST:PORT")]
    pub reachable_as: Vec<String>,

    /// The path below which a proxy serves Ratoon, such as /ratoon/. The proxy must pass paths
    /// unchanged.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub base_url: BaseUrl,

    /// Keep a copy of each open notebook in a store off this machine: s3://BUCKET/PREFIX, or
    /// file:///DIRECTORY [default: $RATOON_STORE, else none].
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    /// The engine whose workers may run cells: dask://HOST:PORT, ray, ray://HOST:PORT, slurm, or
    /// MODULE:FACTORY, a function that returns a concurrent.futures.Executor. States move to the
    /// workers through --store.
    #[arg(long, value_name = "ENGINE")]
    pub workers: Option<String>,

    /// What to log [default: $RATOON_LOG, else warn].
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<Level>,

    /// The file to log to. A file of 10 MiB is renamed to FILE.1, and a new one begins [default:
    /// stderr].
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,

    /// Run tasks of another Ratoon, and write the address of this server to a file.
    /// `ratoon_worker.run` starts Ratoon so.
    #[arg(long, value_name = "FILE", hide = true, requires = "store")]
    pub agent: Option<PathBuf>,

    /// The name of the agent's node.
    #[arg(long, value_name = "NAME", hide = true, default_value = "worker")]
    pub agent_name: String,

    /// Seconds without a task after which the agent ends.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 600)]
    pub agent_idle: u64,

    /// Allow --bind to an address that other machines can reach. Anyone with the token can run code
    /// as you, and without a TLS proxy anyone who listens on the network can read the token.
    #[arg(long)]
    pub dangerously_listen_beyond_loopback: bool,

    /// Count an open standard input as a use, for --exit-when-unused. It closes when the program
    /// ends that has started this one.
    #[arg(long, hide = true)]
    pub used_while_stdin_is_open: bool,

    /// The value of $RATOON_LOG.
    #[arg(skip)]
    pub log_in_environment: Option<String>,

    /// The value of $VIRTUAL_ENV.
    #[arg(skip)]
    pub virtual_env: Option<PathBuf>,

    /// The value of $CONDA_PREFIX.
    #[arg(skip)]
    pub conda_prefix: Option<PathBuf>,

    /// The Python that Ratoon is installed in: the value of $RATOON_INSTALLED_IN, which the command
    /// of the Python package sets.
    #[arg(skip)]
    pub installed_in: Option<PathBuf>,

    /// The value of $RATOON_TOKEN, which `ratoon mcp` uses instead of the owner's token.
    #[arg(skip)]
    pub token_in_environment: Option<Secret>,

    /// The user's home directory.
    #[arg(skip)]
    pub home: Option<PathBuf>,

    /// The directories of $PATH.
    #[arg(skip)]
    pub path: Vec<PathBuf>,

    /// The user's shell: the value of $SHELL.
    #[arg(skip)]
    pub shell: Option<PathBuf>,

    /// The value of $PYTHONHASHSEED.
    #[arg(skip)]
    pub hash_seed: Option<String>,

    /// The extension module that kernels load. It is beside this program's file.
    #[arg(skip)]
    pub extension: Option<PathBuf>,

    /// The current directory.
    #[arg(skip)]
    pub current_dir: Option<PathBuf>,

    /// The key of the server and its workers: the value of $RATOON_WORKERS_KEY.
    #[arg(skip)]
    pub workers_key: Option<Secret>,

    /// The settings of the store that `store` names.
    #[arg(skip)]
    pub store_settings: Option<StoreSettings>,

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
        /// The notebook's directory, NAME.ratoon, or its name.
        notebook: PathBuf,
    },
    /// Remove files from a notebook's directory that none of its states needs. With --store, remove
    /// old blobs from a store that no notebook in it needs.
    Gc {
        /// The notebook's directory, NAME.ratoon, or its name.
        #[arg(required_unless_present = "store", conflicts_with = "store")]
        notebook: Option<PathBuf>,
        /// The store: s3://BUCKET/PREFIX or file:///DIRECTORY.
        #[arg(long, value_name = "URL")]
        store: Option<String>,
    },
    /// Copy a notebook to a store off this machine. A later push sends only what is new.
    Push {
        /// The notebook's directory, NAME.ratoon, or its name.
        notebook: PathBuf,
        /// The store: s3://BUCKET/PREFIX or file:///DIRECTORY [default: $RATOON_STORE].
        #[arg(long, value_name = "URL")]
        store: Option<String>,
        /// The notebook's name in the store [default: its own].
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// Push although another server holds the notebook's lease. That server's later pushes are
        /// refused.
        #[arg(long)]
        take_over: bool,
        /// Replace a version in the store that this copy does not contain. It stays there as an
        /// older version.
        #[arg(long)]
        replace: bool,
    },
    /// Copy a notebook from a store to the current directory. An existing copy is replaced if it
    /// has no changes of its own.
    Pull {
        /// The notebook's name in the store.
        name: String,
        /// The store: s3://BUCKET/PREFIX or file:///DIRECTORY [default: $RATOON_STORE].
        #[arg(long, value_name = "URL")]
        store: Option<String>,
        /// The notebook's name here [default: the same].
        #[arg(long = "as", value_name = "NAME")]
        own_name: Option<String>,
        /// List the versions of the notebook in the store, and pull nothing.
        #[arg(long)]
        versions: bool,
        /// The version to pull [default: the newest].
        #[arg(long, value_name = "VERSION", conflicts_with = "versions")]
        version: Option<String>,
    },
    /// Write one line of a notebook to a file: the cells from the start to a state, with their
    /// outputs, and the drafts there. With --all-branches, write all lines.
    Export {
        /// The notebook's directory, NAME.ratoon, or its name.
        notebook: PathBuf,
        /// The last state of the line, by its name or id [default: the newest].
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// `ipynb`, `py` or `html` [default: ipynb; with --all-branches, html].
        #[arg(long = "as", value_name = "FORMAT")]
        format: Option<String>,
        /// Write all branches, as an HTML page in which the graph can be clicked through. It shows
        /// the line of --state at first.
        #[arg(long)]
        all_branches: bool,
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
    /// Install the Jupyter kernel, which is part of the Python package: `ratoon kernelspec install
    /// [--user|--prefix DIR|--sys-prefix]`.
    #[command(disable_help_flag = true)]
    Kernelspec {
        /// What to do.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<String>,
    },
    /// Trust the checkpoints of a notebook from another install. Their code then runs when their
    /// states are used.
    ///
    /// Shows what the checkpoints contain and asks before it trusts them.
    Trust {
        /// The notebook's directory, NAME.ratoon, or its name.
        notebook: PathBuf,
        /// Trust them without asking, for use in scripts.
        #[arg(long, short)]
        yes: bool,
    },
    /// Serve agents over MCP, on standard input and output. Finds the server of a directory, or
    /// starts one that ends with this command.
    ///
    /// $RATOON_TOKEN, if set, is used instead of the owner's token: for example that of a share
    /// link.
    Mcp(McpOptions),
}

/// Options of `ratoon mcp`.
#[derive(Clone, Debug, clap::Args)]
pub struct McpOptions {
    /// The directory in which cells run [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Options for the server, if one is started: `ratoon mcp -- --timeout 60`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub server_options: Vec<String>,
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

impl Options {
    /// Reads the options. Exits on errors and for help. Must be called once, before any thread
    /// starts: it wipes the token from the command line, and
    /// the credentials of the store from the environment, so that no cell inherits them.
    pub fn read() -> Self {
        let mut options = Self::parse();
        if let Some(token) = &options.token {
            argv::wipe(token.reveal());
        }
        let directory = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        options.virtual_env = directory("VIRTUAL_ENV");
        options.conda_prefix = directory("CONDA_PREFIX");
        options.token_in_environment =
            std::env::var("RATOON_TOKEN").ok().filter(|token| !token.is_empty()).map(Secret);
        options.installed_in = directory("RATOON_INSTALLED_IN");
        let path = std::env::var_os("PATH").unwrap_or_default();
        options.path = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect();
        options.shell = std::env::var_os("SHELL").map(PathBuf::from);
        options.hash_seed = std::env::var("PYTHONHASHSEED").ok();
        let program = std::env::current_exe().ok();
        options.extension = program.map(|program| program.with_file_name("libratoon.so"));
        options.current_dir = std::env::current_dir().ok();
        let of = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        options.home = of("HOME");
        let share = of("XDG_DATA_HOME").or_else(|| of("HOME").map(|home| home.join(".local/share")));
        options.data_dir = share.map(|dir| dir.join("ratoon"));
        let config = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|home| home.join(".config")));
        options.config_dir = config.map(|dir| dir.join("ratoon"));
        let variable = |name: &str| std::env::var(name).ok();
        options.log_in_environment = variable("RATOON_LOG").filter(|level| !level.is_empty());
        options.workers_key = variable("RATOON_WORKERS_KEY").filter(|key| !key.is_empty()).map(Secret);
        argv::forget(&["RATOON_WORKERS_KEY".to_owned()]);
        let named = variable("RATOON_STORE").filter(|url| !url.is_empty());
        let url = options.store_of_command().cloned().or(named);
        options.store_settings = url.map(|url| StoreSettings::new(&url, variable, options.home.clone()));
        if let Some(settings) = &options.store_settings {
            argv::forget(&settings.hidden_variables());
        }
        options
    }

    /// The address that `--store` gives to the server or to the command.
    fn store_of_command(&self) -> Option<&String> {
        match &self.subcommand {
            Some(
                Subcommand::Push { store, .. }
                | Subcommand::Pull { store, .. }
                | Subcommand::Gc { store, .. },
            ) => store.as_ref(),
            _ => self.store.as_ref(),
        }
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
    fn cells_at_workers_would_have_no_sandbox() {
        for sandbox in [&["--no-network"][..], &["--write", "."]] {
            assert!(Options::try_parse_from([&["ratoon", "--workers", "ray"], sandbox].concat()).is_err());
            parsed(sandbox);
        }
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
