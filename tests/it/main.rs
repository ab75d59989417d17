//! The whole server, from outside: the real binary on a free port, spoken to over real sockets.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod ancestors;
mod auth;
mod bodies;
mod branches;
mod care;
mod cells;
mod checkpoints;
mod crashes;
mod disk;
mod exchange;
mod hostile;
mod interrupts;
mod lifetime;
mod links;
mod origins;
mod outputs;
mod pages;
mod parallel;
mod people;
mod provision;
mod request;
mod restarts;
mod seed;
mod server;
mod sockets;
mod start;
mod tasks;
mod tidy;
mod wire;
