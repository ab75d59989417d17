//! The REST API below `/api`, and `GET /health`: one file for each subject.

pub(super) mod commands;
pub(super) mod documents;
pub(super) mod health;
pub(super) mod libraries;
pub(super) mod notebooks;
pub(super) mod openapi;
pub(super) mod share_links;
pub(super) mod state_files;
pub(super) mod states;
pub(super) mod tasks;
pub(super) mod trash;
