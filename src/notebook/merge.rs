//! Merging: which variables of one state are taken into another, and the code of the cell that
//! takes them.
//!
//! The unit is a *group*: variables that share a mutable object, transitively, in any of the three
//! states that a merge compares. Groups are taken whole, so that sharing survives. A value that
//! cannot be read counts as changed.

use super::{Digests, Rebuild, StateId};
use crate::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The IPython magic at the beginning of the generated code. `transfer.py` implements it.
const MAGIC: &str = "%take";

/// A cell that takes variables of another state into the state that it runs against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Take {
    /// The variables to take, by their names in the other state.
    pub names: Vec<TakenName>,
    /// Variables to delete, because the other state has deleted them.
    pub delete: Vec<String>,
}

/// A variable that is taken, possibly under a new name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TakenName {
    /// The name in the other state.
    pub name: String,
    /// The name in the new state, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
}

impl TakenName {
    fn same(name: &str) -> Self {
        Self { name: name.to_owned(), rename: None }
    }
}

impl Take {
    /// The cell's code: `%take a, b as b_2 from STATE del c`.
    pub fn code(&self, from: &StateId) -> String {
        let one = |taken: &TakenName| match &taken.rename {
            Some(rename) => format!("{} as {rename}", taken.name),
            None => taken.name.clone(),
        };
        let names: Vec<String> = self.names.iter().map(one).collect();
        let mut code = format!("{MAGIC} {} from {from}", names.join(", "));
        if !self.delete.is_empty() {
            code += &format!(" del {}", self.delete.join(", "));
        }
        code
    }

    /// Parses generated code: the other state, and what is taken. `None` for any other code.
    pub fn read(code: &str) -> Option<(StateId, Self)> {
        let line = code.trim().strip_prefix(MAGIC)?.strip_prefix(' ')?;
        if line.contains('\n') {
            return None;
        }
        // `from` and `del` are keywords of Python, so no variable has these names.
        let (names, rest) =
            format!(" {line}").split_once(" from ").map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        let (from, delete) = rest.split_once(" del ").unwrap_or((&rest, ""));
        if from.trim().is_empty() || from.trim().contains(' ') {
            return None;
        }
        let one = |text: &str| match text.split_once(" as ") {
            Some((name, rename)) => {
                TakenName { name: name.trim().into(), rename: Some(rename.trim().into()) }
            }
            None => TakenName::same(text.trim()),
        };
        let listed = |text: &str| -> Vec<String> {
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let names = listed(&names).iter().map(|text| one(text)).collect();
        Some((StateId::new(from.trim()), Self { names, delete: listed(delete) }))
    }

    /// The code as a comment, for exports, where the other state does not exist.
    pub fn comment(&self, from: &str) -> String {
        let taken = self.names.iter().map(|one| one.rename.as_ref().unwrap_or(&one.name).as_str());
        let names: Vec<&str> = taken.chain(self.delete.iter().map(String::as_str)).collect();
        format!("# taken from {from}: {}", names.join(", "))
    }
}

/// The other state whose variables generated code reads, and the names of these variables. `None`
/// for any other code.
pub fn other_state(code: &str) -> Option<(StateId, Vec<String>)> {
    if let Some((from, take)) = Take::read(code) {
        return Some((from, take.names.into_iter().map(|taken| taken.name).collect()));
    }
    Rebuild::read(code).map(|Rebuild { from, take, .. }| (from, take))
}

/// Which variables a merge takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"changed\" or a list of names, for `take`")]
pub enum Wanted {
    /// All that the other state has changed since the nearest common ancestor.
    All(Changed),
    /// These variables.
    Names(Vec<String>),
}

/// The word `changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Changed {
    /// All that the other state has changed.
    Changed,
}

/// What a merge does with a group that both states have changed in different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// Take nothing and report the conflict.
    #[default]
    Refuse,
    /// Leave the group as it is.
    Ours,
    /// Take the other state's group.
    Theirs,
    /// Take the other state's group under new names: `x` becomes `x_b`.
    Rename,
}

/// How a merge chooses variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRule {
    /// Which variables it takes.
    pub take: Wanted,
    /// What it does with conflicts.
    pub on_conflict: OnConflict,
    /// What it does with single variables that differ, and so with their groups, whether or not
    /// they are in conflict.
    pub resolve: BTreeMap<String, OnConflict>,
}

/// What a merge would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergePlan {
    /// The groups that differ and that the merge was asked about.
    pub groups: Vec<Vec<String>>,
    /// The variables that it takes.
    pub take: Vec<TakenName>,
    /// The variables that it deletes, because the other state has deleted them.
    pub delete: Vec<String>,
    /// Groups that both states have changed in different ways, and about which nothing was decided.
    /// A merge with such a group is refused.
    pub conflicts: Vec<Vec<String>>,
    /// Groups of which only some variables were named. A merge with such a group is refused.
    pub incomplete: Vec<Vec<String>>,
    /// Warnings about functions that read global variables with other values in the new state.
    pub warnings: Vec<String>,
}

impl MergePlan {
    /// Plans a merge of `theirs` into `ours`. `base` is their nearest common ancestor. Digests of
    /// the same state must be passed as the same reference.
    ///
    /// # Errors
    /// When a variable was named that `theirs` does not have and never had.
    pub fn new(base: &Digests, ours: &Digests, theirs: &Digests, rule: &MergeRule) -> Result<Self, Problem> {
        let named: Option<BTreeSet<&str>> = match &rule.take {
            Wanted::All(Changed::Changed) => None,
            Wanted::Names(names) => Some(names.iter().map(String::as_str).collect()),
        };
        if let Some(missing) =
            named.iter().flatten().find(|name| ![base, theirs].iter().any(|side| has(side, name)))
        {
            let what = format!("take the variable {missing:?}");
            let how = "name variables of that state, or pass \"changed\"";
            return Err(Problem::new(Kind::NotFound, what, "the other state has no such variable", how));
        }
        let mut plan = Self::default();
        let mut used: BTreeSet<String> =
            [ours, theirs].iter().flat_map(|s| s.hashes.keys().cloned()).collect();
        for group in groups([base, ours, theirs]) {
            match &named {
                None if is_same(base, theirs, &group) => continue,
                Some(named) if !group.iter().any(|name| named.contains(name)) => continue,
                _ => {}
            }
            if is_same(ours, theirs, &group) {
                continue;
            }
            if let Some(named) = &named
                && !group.iter().all(|name| named.contains(name))
            {
                plan.incomplete.push(owned(&group));
                continue;
            }
            plan.groups.push(owned(&group));
            let unasked = if is_same(base, ours, &group) { OnConflict::Theirs } else { rule.on_conflict };
            let choice = group.iter().find_map(|name| rule.resolve.get(*name)).copied().unwrap_or(unasked);
            match choice {
                OnConflict::Ours => {}
                OnConflict::Refuse => plan.conflicts.push(owned(&group)),
                OnConflict::Theirs => {
                    plan.take.extend(group.iter().filter(|n| has(theirs, n)).map(|n| TakenName::same(n)));
                    let is_deleted = |name: &&&str| has(ours, name) && !has(theirs, name);
                    plan.delete.extend(group.iter().filter(is_deleted).map(|n| (*n).to_owned()));
                }
                OnConflict::Rename => {
                    for name in group.iter().filter(|name| has(theirs, name)) {
                        let rename = free_name(name, &used);
                        used.insert(rename.clone());
                        plan.take.push(TakenName { name: (*name).to_owned(), rename: Some(rename) });
                    }
                }
            }
        }
        plan.take.sort_by(|a, b| a.name.cmp(&b.name));
        plan.delete.sort();
        plan.warn(ours, theirs);
        Ok(plan)
    }

    /// The cell that carries out the merge.
    pub fn take(&self) -> Take {
        Take { names: self.take.clone(), delete: self.delete.clone() }
    }

    /// Why the merge is refused; `None` if it can be carried out.
    pub fn refusal(&self) -> Option<Problem> {
        let refused = |why: String, how: &str| Some(Problem::new(Kind::Conflict, "take variables", why, how));
        if let Some(group) = self.incomplete.first() {
            let why = format!("{} share objects, so they can only be taken together", listed(group));
            return refused(why, "name all of them");
        }
        if !self.conflicts.is_empty() {
            let names: Vec<String> = self.conflicts.concat();
            let why = format!("both states have changed {}", listed(&names));
            return refused(
                why,
                "pass on_conflict: \"ours\", \"theirs\" or \"rename\", or choose by `resolve`",
            );
        }
        if self.take.is_empty() && self.delete.is_empty() {
            let why = "the other state has changed nothing that differs here".to_owned();
            return refused(why, "compare the two states to see what differs");
        }
        None
    }

    /// Adds a warning for each function or class that would read other global variables than in its
    /// own state.
    fn warn(&mut self, ours: &Digests, theirs: &Digests) {
        let comes: BTreeSet<&str> =
            self.take.iter().filter(|one| one.rename.is_none()).map(|one| one.name.as_str()).collect();
        let gone: BTreeSet<&str> = self.delete.iter().map(String::as_str).collect();
        let mut warnings = Vec::new();
        for TakenName { name, .. } in &self.take {
            for read in theirs.reads.get(name).into_iter().flatten() {
                if comes.contains(read.as_str()) || read == name {
                    continue;
                }
                if !has(ours, read) || gone.contains(read.as_str()) {
                    warnings.push(format!(
                        "`{name}` reads the variable `{read}`, which this state does not have"
                    ));
                } else if !is_equal(ours, theirs, read) {
                    warnings
                        .push(format!("`{name}` reads the variable `{read}`, which has another value here"));
                }
            }
        }
        self.warnings = warnings;
    }
}

/// The groups of variables that share an object in any of these states, as sorted lists of names.
fn groups(sides: [&Digests; 3]) -> Vec<Vec<&str>> {
    let all = sides.iter().flat_map(|side| side.hashes.keys()).map(String::as_str);
    let mut parent: BTreeMap<&str, &str> =
        all.filter(|name| is_name(name)).map(|name| (name, name)).collect();
    for group in sides.iter().flat_map(|side| &side.groups) {
        let named: Vec<&str> = group.iter().map(String::as_str).filter(|name| is_name(name)).collect();
        for pair in named.windows(2) {
            let (a, b) = (leader(&parent, pair[0]), leader(&parent, pair[1]));
            parent.insert(a.max(b), a.min(b));
        }
    }
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in parent.keys() {
        groups.entry(leader(&parent, name)).or_default().push(name);
    }
    groups.into_values().collect()
}

/// The first name of the group that a variable belongs to so far.
fn leader<'a>(parent: &BTreeMap<&'a str, &'a str>, name: &'a str) -> &'a str {
    let next = |name: &&'a str| parent.get(name).copied().filter(|next| next != name);
    std::iter::successors(Some(name), next).last().unwrap_or(name)
}

fn has(side: &Digests, name: &str) -> bool {
    is_name(name) && side.hashes.contains_key(name)
}

/// Whether code can name this variable. `globals()["a b"] = 1` makes other variables, which a merge
/// leaves out: in the code of its cell they would mean something else.
fn is_name(name: &str) -> bool {
    let is_start = |c: char| c == '_' || c.is_alphabetic();
    name.starts_with(is_start)
        && name.chars().all(|c| c == '_' || c.is_alphanumeric())
        && !["as", "from", "del"].contains(&name)
}

/// Whether a variable is known to have the same value in two states, or to exist in neither.
fn is_equal(a: &Digests, b: &Digests, name: &str) -> bool {
    match (a.hashes.get(name), b.hashes.get(name)) {
        (None, None) => true,
        (Some(Some(a)), Some(Some(b))) => a == b,
        _ => false,
    }
}

/// Whether the variables of a group are known to have the same values in two states, and to share
/// the same objects.
fn is_same(a: &Digests, b: &Digests, group: &[&str]) -> bool {
    std::ptr::eq(a, b)
        || group.iter().all(|name| is_equal(a, b, name))
            && matches!((sharing(a, group), sharing(b, group)), (Some(a), Some(b)) if a == b)
}

/// Which variables of a group share objects in one state, with the digest of each such set. `None`
/// if a digest is unknown.
fn sharing<'a>(side: &'a Digests, group: &[&str]) -> Option<BTreeMap<Vec<&'a str>, &'a str>> {
    let mut found = BTreeMap::new();
    for (names, fingerprint) in side.groups.iter().zip(&side.fingerprints) {
        if names.len() > 1 && names.iter().any(|name| group.contains(&name.as_str())) {
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            names.sort_unstable();
            found.insert(names, fingerprint.as_deref()?);
        }
    }
    Some(found)
}

fn free_name(name: &str, used: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|n| format!("{name}_b{n}"));
    let mut names = std::iter::once(format!("{name}_b")).chain(numbered);
    names.find(|name| !used.contains(name)).unwrap_or_default()
}

fn owned(group: &[&str]) -> Vec<String> {
    group.iter().map(|name| (*name).to_owned()).collect()
}

/// Names as text, the first ten of them.
fn listed(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0..=10 => first.join(", "),
        more => format!("{} and {} more", first.join(", "), more - 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Parses a state: `x=1 y=2 a,b=3 f=4:x g=?`. A comma joins variables that share an object, `?`
    /// is a value that cannot be read, and the names after a colon are read by a function.
    fn state(text: &str) -> Digests {
        let mut digests = Digests::default();
        for part in text.split_whitespace() {
            let (names, value) = part.split_once('=').expect("NAMES=VALUE");
            let (value, reads) = value.split_once(':').unwrap_or((value, ""));
            let value = (value != "?").then(|| value.to_owned());
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            for name in &names {
                digests.hashes.insert(name.clone(), value.clone());
                if !reads.is_empty() {
                    digests.reads.insert(name.clone(), reads.split('+').map(str::to_owned).collect());
                }
            }
            digests.fingerprints.push(value);
            digests.groups.push(names);
        }
        digests
    }

    fn rule(take: &str, on_conflict: OnConflict) -> MergeRule {
        let take = match take {
            "changed" => Wanted::All(Changed::Changed),
            names => Wanted::Names(names.split(' ').map(str::to_owned).collect()),
        };
        MergeRule { take, on_conflict, resolve: BTreeMap::new() }
    }

    fn planned(base: &str, ours: &str, theirs: &str, rule: &MergeRule) -> String {
        match MergePlan::new(&state(base), &state(ours), &state(theirs), rule) {
            Ok(plan) => {
                let refusal = plan.refusal().map(|problem| format!("; refused: {}", problem.why));
                let warnings: String = plan.warnings.iter().map(|w| format!("; {w}")).collect();
                plan.take().code(&StateId::new("S")) + &warnings + &refusal.unwrap_or_default()
            }
            Err(problem) => format!("{}: {}", problem.what, problem.why),
        }
    }

    fn all(base: &str, ours: &str, theirs: &str) -> String {
        planned(base, ours, theirs, &rule("changed", OnConflict::Refuse))
    }

    #[test]
    fn what_only_the_other_state_has_changed_is_taken() {
        let cases = [
            ("x=1", "x=1", "x=2"),
            ("x=1", "x=1 y=1", "x=2 z=3"),
            ("x=1 y=1", "x=1 y=1", "x=1"),
            ("x=1", "x=2", "x=1"),
            ("x=1", "x=2", "x=2"),
            ("x=1", "x=1", "x=1"),
            ("x=1", "", "x=1"),
            ("x=1", "", "x=2"),
            ("x=1", "x=2", ""),
            ("x=1", "x=2", "x=3"),
            ("x=?", "x=?", "x=?"),
            ("a=1 b=1", "a=1 b=1", "a,b=1"),
            ("a,b=1", "a,b=1", "a=1 b=1"),
            ("a,b=1", "a,b=1", "a=1"),
            ("a=1 b=2 c=3", "a=1 b=2 c=3", "a,b=4 c=3"),
            ("a=1 b=2", "a,b=3", "a=1 b=9"),
            ("a,b=1 b2=1", "a,b=1 b2=1", "a=1 b,b2=5"),
        ];
        let table: String =
            cases.iter().map(|(b, o, t)| format!("{b} | {o} | {t} -> {}\n", all(b, o, t))).collect();
        expect![[r#"
            x=1 | x=1 | x=2 -> %take x from S
            x=1 | x=1 y=1 | x=2 z=3 -> %take x, z from S
            x=1 y=1 | x=1 y=1 | x=1 -> %take  from S del y
            x=1 | x=2 | x=1 -> %take  from S; refused: the other state has changed nothing that differs here
            x=1 | x=2 | x=2 -> %take  from S; refused: the other state has changed nothing that differs here
            x=1 | x=1 | x=1 -> %take  from S; refused: the other state has changed nothing that differs here
            x=1 |  | x=1 -> %take  from S; refused: the other state has changed nothing that differs here
            x=1 |  | x=2 -> %take  from S; refused: both states have changed `x`
            x=1 | x=2 |  -> %take  from S; refused: both states have changed `x`
            x=1 | x=2 | x=3 -> %take  from S; refused: both states have changed `x`
            x=? | x=? | x=? -> %take  from S; refused: both states have changed `x`
            a=1 b=1 | a=1 b=1 | a,b=1 -> %take a, b from S
            a,b=1 | a,b=1 | a=1 b=1 -> %take a, b from S
            a,b=1 | a,b=1 | a=1 -> %take a from S del b
            a=1 b=2 c=3 | a=1 b=2 c=3 | a,b=4 c=3 -> %take a, b from S
            a=1 b=2 | a,b=3 | a=1 b=9 -> %take  from S; refused: both states have changed `a`, `b`
            a,b=1 b2=1 | a,b=1 b2=1 | a=1 b,b2=5 -> %take a, b, b2 from S
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn conflicts_are_decided_by_the_rule_and_by_names() {
        let (base, ours, theirs) = ("x=1 a,b=1", "x=2 x_b=0 a,b=2", "x=3 a=3 c=1");
        let with = |on_conflict| planned(base, ours, theirs, &rule("changed", on_conflict));
        let table = [OnConflict::Refuse, OnConflict::Ours, OnConflict::Theirs, OnConflict::Rename].map(with);
        expect![[r#"
            %take c from S; refused: both states have changed `a`, `b`, `x`
            %take c from S
            %take a, c, x from S del b
            %take a as a_b, c, x as x_b2 from S"#]]
        .assert_eq(&table.join("\n"));
        let resolve = BTreeMap::from([("x".into(), OnConflict::Theirs), ("b".into(), OnConflict::Ours)]);
        let chosen = MergeRule { resolve, ..rule("changed", OnConflict::Refuse) };
        expect!["%take c, x from S"].assert_eq(&planned(base, ours, theirs, &chosen));
    }

    #[test]
    fn named_variables_are_taken_with_their_groups_or_not_at_all() {
        let (base, ours, theirs) = ("x=1 a,b=1 y=1 d=1", "x=1 a,b=1 y=2 d=1", "x=1 a,b=2 y=1");
        let named = |names: &str| planned(base, ours, theirs, &rule(names, OnConflict::Refuse));
        let table = ["x", "a", "a b", "y", "d", "nothing"].map(|names| format!("{names}: {}", named(names)));
        expect![[r#"
            x: %take  from S; refused: the other state has changed nothing that differs here
            a: %take  from S; refused: `a`, `b` share objects, so they can only be taken together
            a b: %take a, b from S
            y: %take  from S; refused: both states have changed `y`
            d: %take  from S del d
            nothing: take the variable "nothing": the other state has no such variable"#]]
        .assert_eq(&table.join("\n"));
        expect!["%take y from S"].assert_eq(&planned(base, ours, theirs, &rule("y", OnConflict::Theirs)));
    }

    #[test]
    fn functions_that_read_other_values_are_warned_of() {
        let theirs = "f=2:k+m+n+f k=9 m=5 n=1";
        expect!["%take f from S; `f` reads the variable `k`, which has another value here; `f` reads the variable `m`, which this state does not have"].assert_eq(&planned("f=1", "f=1 k=1 n=1", theirs, &rule("f", OnConflict::Refuse)));
        expect!["%take f, k, m from S"].assert_eq(&planned(
            "f=1",
            "f=1 k=1 n=1",
            theirs,
            &rule("f k m", OnConflict::Theirs),
        ));
    }

    #[test]
    fn a_descendant_has_no_conflicts_even_with_values_that_cannot_be_read() {
        let (ours, theirs) = (state("g=? x=1"), state("g=? x=2"));
        let plan =
            MergePlan::new(&ours, &ours, &theirs, &rule("changed", OnConflict::Refuse)).expect("a plan");
        assert_eq!(plan.take().code(&StateId::new("S")), "%take g, x from S");
        let resolve = BTreeMap::from([("g".into(), OnConflict::Ours), ("x".into(), OnConflict::Rename)]);
        let chosen = MergeRule { resolve, ..rule("changed", OnConflict::Refuse) };
        let plan = MergePlan::new(&ours, &ours, &theirs, &chosen).expect("a plan");
        assert_eq!(plan.take().code(&StateId::new("S")), "%take x as x_b from S");
        assert_eq!(plan.groups, [["g"], ["x"]]);
    }

    /// In the code of the cell such names would name other variables, or be code for the shell.
    #[test]
    fn variables_that_code_cannot_name_are_left_out() {
        let odd = r#"p;q=1 {x}=1 as=1 from=1 1a=1"#;
        assert_eq!(all("x=1", "x=1", &format!("x=2 {odd}")), "%take x from S");
        let named = planned("x=1", "x=1", &format!("x=2 {odd}"), &rule("{x}", OnConflict::Refuse));
        assert!(named.contains("has no such variable"), "{named}");
    }

    #[test]
    fn code_is_read_as_it_was_written() {
        let renamed = TakenName { name: "b".into(), rename: Some("b_b".into()) };
        for (names, delete) in [
            (vec![TakenName::same("a"), renamed.clone()], vec![]),
            (vec![], vec!["c".to_owned(), "d".to_owned()]),
            (vec![renamed], vec!["é".to_owned()]),
        ] {
            let (take, from) = (Take { names, delete }, StateId::new("0f"));
            assert_eq!(
                Take::read(&take.code(&from)),
                Some((from.clone(), take.clone())),
                "{}",
                take.code(&from)
            );
        }
        for code in ["", "x = 1", "%take", "%take a", "%take a from", "%take a from b c", "%take a from b\nx"]
        {
            assert_eq!(Take::read(code), None, "{code}");
        }
    }
}
