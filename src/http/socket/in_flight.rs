//! Limits the commands of one client that await their replies, and the memory of their replies.

use super::message::is_urgent;
use crate::http::app_state::{AppState, Permit};
use crate::http::auth::Access;
use crate::notebook::Command;
use crate::problem::Problem;
use std::cell::Cell;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of commands of one client that await their replies.
pub(super) const MAX_IN_FLIGHT: usize = 256;

/// Maximum number of presence updates among these commands. Only the newest update matters, and
/// many clients may send updates at the same time.
const MAX_PRESENCE_UPDATES: usize = 16;

/// Maximum number of long answers of one client that are being made or wait to be sent. Each may
/// have some megabytes. Answers to further commands are made later.
const MAX_LONG_ANSWERS: usize = 4;

/// Counts the commands of one client that await their replies.
#[derive(Debug)]
pub(super) struct InFlight {
    all: Cell<usize>,
    /// The number of presence updates among these commands.
    presence_updates: Cell<usize>,
    long_answers: Arc<Semaphore>,
}

/// The permit for a long answer. It is dropped when the answer has been sent.
#[derive(Debug)]
pub(super) struct Held(#[allow(dead_code)] OwnedSemaphorePermit, #[allow(dead_code)] Permit);

impl InFlight {
    pub(super) fn new() -> Self {
        let long_answers = Arc::new(Semaphore::new(MAX_LONG_ANSWERS));
        Self { all: Cell::default(), presence_updates: Cell::default(), long_answers }
    }

    /// Waits until a long answer may be made. `None` for commands with short answers.
    ///
    /// # Errors
    /// When many clients with share links read their answers slowly, or this connection has ended.
    pub(super) async fn hold(
        &self,
        command: &Command,
        app: &AppState,
        access: &Access,
    ) -> Result<Option<Held>, Problem> {
        if !command.has_long_answer() {
            return Ok(None);
        }
        let own = self.long_answers.clone().acquire_owned().await;
        let own = own.map_err(|_| Problem::internal("the connection has ended"))?;
        Ok(Some(Held(own, app.long_answer_for(access, command).await?)))
    }

    /// Ends the questions that wait, because the connection has ended.
    pub(super) fn close(&self) {
        self.long_answers.close();
    }

    /// Returns the limit that one more command would exceed, if any.
    pub(super) fn exceeded_limit(&self, command: &Command) -> Option<usize> {
        let is_full = |count: &Cell<usize>, limit| (count.get() >= limit).then_some(limit);
        let is_presence = matches!(command, Command::Stand { .. });
        let all = is_full(&self.all, MAX_IN_FLIGHT).filter(|_| !is_urgent(command));
        all.or_else(|| is_full(&self.presence_updates, MAX_PRESENCE_UPDATES).filter(|_| is_presence))
    }

    /// Counts a command that was sent to the notebook.
    pub(super) fn begin(&self, is_presence: bool) {
        self.all.set(self.all.get() + 1);
        self.presence_updates.set(self.presence_updates.get() + usize::from(is_presence));
    }

    /// Removes a command from the count, because it was answered.
    pub(super) fn end(&self, is_presence: bool) {
        self.all.set(self.all.get() - 1);
        self.presence_updates.set(self.presence_updates.get() - usize::from(is_presence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::StateId;

    #[test]
    fn many_presence_updates_do_not_delay_other_commands() {
        let in_flight = InFlight::new();
        let stand =
            Command::Stand { state: StateId::root(), name: None, caret: None, cell: None, follows: None };
        let list = Command::ListVariables { state: StateId::root().into() };
        for _ in 0..MAX_PRESENCE_UPDATES {
            assert_eq!(in_flight.exceeded_limit(&stand), None);
            in_flight.begin(true);
        }
        assert_eq!(
            (in_flight.exceeded_limit(&stand), in_flight.exceeded_limit(&list)),
            (Some(MAX_PRESENCE_UPDATES), None)
        );
        in_flight.end(true);
        assert_eq!(in_flight.exceeded_limit(&stand), None);
        for _ in in_flight.all.get()..MAX_IN_FLIGHT {
            in_flight.begin(false);
        }
        assert_eq!(
            (in_flight.exceeded_limit(&list), in_flight.exceeded_limit(&stand)),
            (Some(MAX_IN_FLIGHT), Some(MAX_IN_FLIGHT))
        );
        assert_eq!(in_flight.exceeded_limit(&Command::Reset), None, "a reset is always sent");
    }
}
