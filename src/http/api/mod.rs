//! The REST API below `/api`, and `GET /health`: one file for each subject.

pub(super) mod agents;
pub(super) mod node;
pub(super) mod commands;
pub(super) mod deleted;
pub(super) mod documents;
pub(super) mod files;
pub(super) mod health;
pub(super) mod libraries;
pub(super) mod lint;
pub(super) mod memory;
pub(super) mod merge;
pub(super) mod notebooks;
pub(super) mod openapi;
pub(super) mod pictures;
pub(super) mod pythons;
pub(super) mod run_many;
pub(super) mod settings;
pub(super) mod share_links;
pub(super) mod state_files;
pub(super) mod states;
pub(super) mod sweeps;
pub(super) mod tasks;
pub(super) mod terminals;
pub(super) mod trash;
pub(super) mod workers;
