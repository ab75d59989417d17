//! WHERE a notebook lasts. Nothing does yet: notebooks live as long as the server.
//!
//! What is to be saved passes one place in order: every `notebook::Event` that `session::task` publishes is a fact of the
//! notebook, and all of them together are the notebook.
