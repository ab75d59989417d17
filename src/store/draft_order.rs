//! Numbers the rows of drafts. The numbers of a state's drafts have the same order as the drafts.
//!
//! The numbers leave gaps, so inserting a draft between two others changes no other row. Files of
//! earlier versions number a state's drafts 0, 1, 2, …. Such drafts are renumbered when a draft is
//! first inserted between two of them.

use super::tables::{DRAFTS, Fault, Tables};
use crate::notebook::{Draft, DraftId, StateId};
use std::collections::{BTreeMap, HashMap};

/// Difference between the numbers of two drafts that were appended one after the other. Insertions
/// between the two can halve this difference 32 times.
const GAP: i64 = 1 << 32;

/// The key of a row: the state, and the draft's number among the drafts of the state.
type Key = (StateId, i64);

/// The keys of all rows of drafts.
#[derive(Debug, Default)]
pub(super) struct DraftOrder {
    keys: HashMap<DraftId, Key>,
    states: HashMap<StateId, BTreeMap<i64, DraftId>>,
}

/// The changes to the table that move a draft to a position.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Placement {
    /// The draft's old row. It must be removed first.
    pub(super) left: Option<Key>,
    /// New numbers of the state's other drafts, as pairs of old and new number. Contains all other
    /// drafts or none. The numbers must be changed before the draft's new row is written.
    pub(super) spread: Vec<(i64, i64)>,
    /// The draft's new number.
    pub(super) seq: i64,
}

impl DraftOrder {
    /// Reads the keys of all rows in the table. Skips rows that cannot be read.
    pub(super) fn read(tables: &mut Tables) -> Result<Self, Fault> {
        let mut order = Self::default();
        for row in tables.rows(&DRAFTS)?.into_iter().filter(|row| row.is_whole) {
            let draft = serde_json::from_str::<Draft>(row.cells[2].text().unwrap_or_default());
            if let (Ok(draft), Some(seq)) = (draft, row.cells[1].int()) {
                order.insert(draft.id, draft.on, seq);
            }
        }
        Ok(order)
    }

    /// Puts a draft after all other drafts of a state, and returns the draft's number.
    pub(super) fn append(&mut self, id: &DraftId, on: &StateId) -> i64 {
        let last = self.states.get(on).and_then(|rows| rows.last_key_value()).map(|(seq, _)| *seq);
        let seq = last.map_or(0, |last| last.saturating_add(GAP));
        self.insert(id.clone(), on.clone(), seq);
        seq
    }

    /// Removes a draft from the order, and returns the key of its row.
    pub(super) fn remove(&mut self, id: &DraftId) -> Option<Key> {
        let (state, seq) = self.keys.remove(id)?;
        self.states.get_mut(&state)?.remove(&seq);
        Some((state, seq))
    }

    /// Removes all drafts of a state from the order.
    pub(super) fn remove_state(&mut self, state: &StateId) {
        for id in self.states.remove(state).unwrap_or_default().into_values() {
            self.keys.remove(&id);
        }
    }

    /// Puts a draft after the draft `after`. Puts it first if the state has no draft `after`.
    pub(super) fn place(&mut self, id: &DraftId, on: &StateId, after: Option<&DraftId>) -> Placement {
        if let Some((state, seq)) = self.keys.get(id)
            && state == on
            && self.before(on, *seq) == after
        {
            return Placement { seq: *seq, ..Placement::default() };
        }
        let left = self.remove(id);
        let mut spread = Vec::new();
        let seq = self.free_number(on, after).unwrap_or_else(|| {
            spread = self.spread(on);
            self.free_number(on, after).unwrap_or_default()
        });
        self.insert(id.clone(), on.clone(), seq);
        Placement { left, spread, seq }
    }

    fn insert(&mut self, id: DraftId, on: StateId, seq: i64) {
        self.states.entry(on.clone()).or_default().insert(seq, id.clone());
        self.keys.insert(id, (on, seq));
    }

    fn before(&self, on: &StateId, seq: i64) -> Option<&DraftId> {
        self.states.get(on)?.range(..seq).next_back().map(|(_, id)| id)
    }

    /// Returns a number between the draft `after` and the next draft; `None` if no number is free
    /// there.
    fn free_number(&self, on: &StateId, after: Option<&DraftId>) -> Option<i64> {
        let Some(rows) = self.states.get(on).filter(|rows| !rows.is_empty()) else { return Some(0) };
        let after =
            after.and_then(|id| self.keys.get(id)).filter(|(state, _)| state == on).map(|(_, seq)| *seq);
        let next = match after {
            Some(after) => rows.range(after.checked_add(1)?..).next(),
            None => rows.first_key_value(),
        };
        match (after, next.map(|(seq, _)| *seq)) {
            (Some(after), None) => after.checked_add(GAP),
            (None, Some(next)) => next.checked_sub(GAP),
            (Some(after), Some(next)) => {
                next.checked_sub(after).filter(|gap| *gap > 1).map(|gap| after + gap / 2)
            }
            (None, None) => Some(0),
        }
    }

    /// Renumbers a state's drafts with gaps between the numbers. Returns pairs of old and new
    /// number.
    fn spread(&mut self, on: &StateId) -> Vec<(i64, i64)> {
        let rows = self.states.remove(on).unwrap_or_default();
        let mut spread = Vec::with_capacity(rows.len());
        for (from, id) in rows {
            let to = self.append(&id, on);
            spread.push((from, to));
        }
        spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(order: &DraftOrder, on: &StateId) -> Vec<String> {
        order.states.get(on).into_iter().flat_map(|rows| rows.values().map(ToString::to_string)).collect()
    }

    #[test]
    fn a_draft_goes_between_two_others_without_touching_them() {
        let (mut order, on) = (DraftOrder::default(), StateId::new("s"));
        let (a, b, c) = (DraftId::new("a"), DraftId::new("b"), DraftId::new("c"));
        assert_eq!(order.place(&a, &on, None), Placement { seq: 0, ..Placement::default() });
        assert_eq!(order.place(&b, &on, Some(&a)).seq, GAP);
        assert_eq!(order.place(&c, &on, Some(&a)), Placement { seq: GAP / 2, ..Placement::default() });
        assert_eq!(
            order.place(&c, &on, Some(&a)),
            Placement { seq: GAP / 2, ..Placement::default() },
            "it is already there"
        );
        let moved = order.place(&c, &on, None);
        assert_eq!((moved.left, moved.seq), (Some((on.clone(), GAP / 2)), -GAP));
        assert_eq!(ids(&order, &on), ["c", "a", "b"]);
        let other = StateId::new("t");
        assert_eq!(order.place(&a, &other, None).left, Some((on.clone(), 0)));
        assert_eq!(order.remove(&b), Some((on.clone(), GAP)));
        order.remove_state(&on);
        assert_eq!((ids(&order, &on), ids(&order, &other)), (vec![], vec!["a".into()]));
        assert_eq!(order.place(&c, &on, None), Placement { seq: 0, ..Placement::default() });
    }

    #[test]
    fn numbers_that_lie_side_by_side_are_spread() {
        let (mut order, on) = (DraftOrder::default(), StateId::new("s"));
        for (seq, id) in [(0, "a"), (1, "b")] {
            order.insert(DraftId::new(id), on.clone(), seq);
        }
        let (a, new) = (DraftId::new("a"), DraftId::new("new"));
        let place = order.place(&new, &on, Some(&a));
        assert_eq!(place, Placement { left: None, spread: vec![(0, 0), (1, GAP)], seq: GAP / 2 });
        assert_eq!(ids(&order, &on), ["a", "new", "b"]);
        // Each insertion takes half of the gap that follows `a`.
        let mut spreads = 0;
        for n in 0..100 {
            let place = order.place(&DraftId::new(format!("{n}")), &on, Some(&a));
            spreads += usize::from(!place.spread.is_empty());
        }
        assert_eq!(spreads, 3);
        let shown = ids(&order, &on);
        assert_eq!((shown[1].as_str(), shown[100].as_str(), shown.len()), ("99", "0", 103));
    }
}
