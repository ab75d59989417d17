//! The generated code of a state that combines the variables of two states. A replay runs this code
//! like the code of any other cell.

use super::StateId;

/// The IPython magic at the beginning of the generated code. `transfer.py` implements it.
const MAGIC: &str = "%rebuild_state";

/// A cell that combines variables of the state that it runs against with variables of another
/// state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// The other state.
    pub from: StateId,
    /// The variables taken from the other state.
    pub take: Vec<String>,
    /// The variables kept from the state that the cell runs against.
    pub keep: Vec<String>,
}

impl Rebuild {
    /// The cell's code: the magic and its arguments on one line.
    pub fn code(&self) -> String {
        let mut words = vec![MAGIC, "--from", self.from.as_str(), "--take"];
        words.extend(self.take.iter().map(String::as_str));
        words.push("--keep");
        words.extend(self.keep.iter().map(String::as_str));
        words.join(" ")
    }

    /// Parses generated code. `None` for any other code.
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
