//! A kernel process: it holds one state and obeys the server's orders. This is the extension
//! module that the user's Python loads (`python/boot.py`).
//!
//! It has one thread and no tokio. The root starts the shell and waits; every other process is a
//! fork of it. When its socket closes it calls `_exit`, so that no branch runs atexit functions or
//! deletes temporary directories that other branches use.
//!
//! - `root`: the first process; `kernel_process`: what a process holds, and the orders that it
//!   obeys; `fork`: the only fork; `roles`: what a fork becomes; `process_exit`
//! - `run_cell`: one cell; `capture`: its outputs; `channel`: what its Python sends; `sigint`: when
//!   an interrupt may arrive
//! - `package`: our Python package, `bytecode`: its compiled code; `python`, `introspection`,
//!   `symbols`, `transfer`, `checkpoint`: calls into the package; `contents`: whether containers
//!   have changed
//! - `freezable`: whether a state can be kept; `threads`, `children`: what branches would lack;
//!   `shared`: what they share; `shared_number`: numbers in memory that all processes of a notebook
//!   share; `files`: reopens the state's files in each branch
//! - `huge_pages`: the memory of Python's objects, which each fork shares
//! - `lifeline`: exit with the server; `priority`: OOM score and niceness; `load_limits`: rlimits
//! - `control`, `descriptors`: its socket and its other descriptors; `report`: what it reports

mod bytecode;
mod capture;
mod channel;
mod checkpoint;
mod children;
mod contents;
mod control;
mod descriptors;
mod files;
mod fork;
mod freezable;
mod huge_pages;
mod introspection;
mod kernel_process;
mod lifeline;
mod load_limits;
mod package;
mod pickle_watch;
mod priority;
mod process_exit;
mod python;
mod report;
mod robust_locks;
mod roles;
mod root;
mod run_cell;
mod shared;
mod shared_number;
mod sigint;
mod symbols;
mod threads;
mod transfer;
