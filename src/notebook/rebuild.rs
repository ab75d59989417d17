//! The code of a state that was made of the variables of two: no cell of anybody's, but code that runs again like any other.

use super::StateId;

/// What begins such code; the shell knows it as a magic.
const MAGIC: &str = "%rebuild_state";

/// A cell that makes a state of the variables of two: of the one that it runs against, and of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// The other state.
    pub from: StateId,
    /// The variables that come from it.
    pub take: Vec<String>,
    /// The variables that stay of the state that it runs against.
    pub keep: Vec<String>,
}

impl Rebuild {
    /// The code.
    pub fn code(&self) -> String {
        let mut words = vec![MAGIC, "--from", self.from.as_str(), "--take"];
        words.extend(self.take.iter().map(String::as_str));
        words.push("--keep");
        words.extend(self.keep.iter().map(String::as_str));
        words.join(" ")
    }

    /// What code says, if it is of this kind and nothing else.
    pub fn read(code: &str) -> Option<Self> {
        let mut words = code.trim().strip_prefix(MAGIC)?.split(' ').filter(|word| !word.is_empty());
        if code.trim().contains('\n') || words.next() != Some("--from") {
            return None;
        }
        let from = StateId::new(words.next()?);
        if words.next() != Some("--take") {
            return None;
        }
        let take = words.by_ref().take_while(|word| *word != "--keep").map(str::to_owned).collect();
        Some(Self { from, take, keep: words.map(str::to_owned).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_as_it_was_written() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (take, keep) in [("", ""), ("a b", "c"), ("", "c d"), ("é", "")] {
            let rebuild = Rebuild { from: StateId::new("s1"), take: names(take), keep: names(keep) };
            assert_eq!(Rebuild::read(&rebuild.code()), Some(rebuild.clone()), "{}", rebuild.code());
        }
        for code in [
            "",
            "x = 1",
            "%rebuild_state",
            "%rebuild_state --from",
            "%rebuild_state --from s1 --take a\nx = 1",
        ] {
            assert_eq!(Rebuild::read(code), None, "{code}");
        }
    }
}
