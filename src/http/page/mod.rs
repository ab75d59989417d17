//! The page: its HTML shells, its files, and signing in.

mod assets;
#[cfg(test)]
mod bundle;
mod render;
mod shells;
pub(super) mod sign_in;

pub(super) use assets::{asset, frame};
pub(super) use shells::{home, notebook, terminal};
