//! The whole server, from outside: the real binary on a free port, spoken to over real sockets.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod ancestors;
mod asking;
mod auth;
mod bodies;
mod branches;
mod care;
mod cells;
mod checkpoints;
mod compat;
mod connections;
mod crashes;
mod disk;
mod exchange;
mod floods;
mod formats;
mod home;
mod hostile;
mod interrupts;
mod lifetime;
mod limits;
mod links;
mod looks;
mod origins;
mod outputs;
mod pages;
mod parallel;
mod people;
mod processes;
mod provision;
mod refusals;
mod request;
mod restarts;
mod seed;
mod server;
mod soak;
mod sockets;
mod start;
mod survival;
mod tasks;
mod threads;
mod tidy;
mod trapped;
mod trash;
mod wire;
