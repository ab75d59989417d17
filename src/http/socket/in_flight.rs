//! How much one client may ask for before it is answered.

use super::message::is_urgent;
use crate::notebook::Command;
use std::cell::Cell;

/// Commands of one client that may be under way at once.
pub(super) const MAX_IN_FLIGHT: usize = 256;

/// How many of them may say where the client stands: the last one counts, and all clients may say
/// so at once.
const MAX_STANDING: usize = 16;

/// How many commands of one client are under way.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    all: Cell<usize>,
    /// Of these, those that say where it stands.
    standing: Cell<usize>,
}

impl InFlight {
    /// The limit that one more command would exceed, if it would.
    pub(super) fn full(&self, command: &Command) -> Option<usize> {
        let is_full = |count: &Cell<usize>, limit| (count.get() >= limit).then_some(limit);
        let stands = matches!(command, Command::Stand { .. });
        let all = is_full(&self.all, MAX_IN_FLIGHT).filter(|_| !is_urgent(command));
        all.or_else(|| is_full(&self.standing, MAX_STANDING).filter(|_| stands))
    }

    /// A command is under way.
    pub(super) fn begin(&self, stands: bool) {
        self.all.set(self.all.get() + 1);
        self.standing.set(self.standing.get() + usize::from(stands));
    }

    /// A command is answered.
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
    fn who_says_again_and_again_where_it_stands_holds_up_nobody() {
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
        assert_eq!(flying.full(&Command::Reset), None, "what ends things is always heard");
    }
}
