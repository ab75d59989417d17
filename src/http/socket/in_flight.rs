//! Limits how many commands of one client may await their replies.

use super::message::is_urgent;
use crate::notebook::Command;
use std::cell::Cell;

/// Most commands of one client that await their replies at a time.
pub(super) const MAX_IN_FLIGHT: usize = 256;

/// Most presence updates among these commands. Only the newest matters, and many clients may send
/// updates at the same time.
const MAX_STANDING: usize = 16;

/// Counts the commands of one client that await their replies.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    all: Cell<usize>,
    /// Presence updates among them.
    standing: Cell<usize>,
}

impl InFlight {
    /// The limit that one more command would exceed, if any.
    pub(super) fn full(&self, command: &Command) -> Option<usize> {
        let is_full = |count: &Cell<usize>, limit| (count.get() >= limit).then_some(limit);
        let stands = matches!(command, Command::Stand { .. });
        let all = is_full(&self.all, MAX_IN_FLIGHT).filter(|_| !is_urgent(command));
        all.or_else(|| is_full(&self.standing, MAX_STANDING).filter(|_| stands))
    }

    /// Counts a command that was sent.
    pub(super) fn begin(&self, stands: bool) {
        self.all.set(self.all.get() + 1);
        self.standing.set(self.standing.get() + usize::from(stands));
    }

    /// Counts a command that was answered.
    pub(super) fn end(&self, stands: bool) {
        self.all.set(self.all.get() - 1);
        self.standing.set(self.standing.get() - usize::from(stands));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::StateId;

    #[test]
    fn many_presence_updates_do_not_delay_other_commands() {
        let flying = InFlight::default();
        let stand = Command::Stand { state: StateId::root(), name: None, caret: None };
        let look = Command::ListVariables { state: StateId::root().into() };
        for _ in 0..MAX_STANDING {
            assert_eq!(flying.full(&stand), None);
            flying.begin(true);
        }
        assert_eq!((flying.full(&stand), flying.full(&look)), (Some(MAX_STANDING), None));
        flying.end(true);
        assert_eq!(flying.full(&stand), None);
        for _ in flying.all.get()..MAX_IN_FLIGHT {
            flying.begin(false);
        }
        assert_eq!((flying.full(&look), flying.full(&stand)), (Some(MAX_IN_FLIGHT), Some(MAX_IN_FLIGHT)));
        assert_eq!(flying.full(&Command::Reset), None, "a reset is always sent");
    }
}
