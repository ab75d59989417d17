//! Merges: takes variables of one state into a new child of another.
//!
//! A merge first needs the digests of three states: both states and their nearest common ancestor.
//! `Listings` computes them. Then the merge is an ordinary run of the code that `MergePlan` makes,
//! so that it is saved, replayed and exported like any cell.

use super::core::Core;
use super::effect::Ticket;
use super::listings::Listings;
use crate::notebook::{
    Base, Digests, MergePlan, MergeRule, MergeSpec, Reply, Residency, RunSpec, StateId, Take,
};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of merges that wait for digests.
const MAX_WAITING: usize = 16;

/// A merge that waits for digests.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    spec: MergeSpec,
    ours: StateId,
    theirs: StateId,
    base: StateId,
    known: BTreeMap<StateId, Digests>,
}

impl Waiting {
    fn needs(&self, state: &StateId) -> bool {
        [&self.ours, &self.theirs, &self.base].contains(&state)
    }

    fn missing(&self) -> Vec<StateId> {
        let mut states = vec![self.ours.clone(), self.theirs.clone(), self.base.clone()];
        states.retain(|state| !self.known.contains_key(state));
        states.dedup();
        states
    }

    fn plan(&self) -> Option<Result<MergePlan, Problem>> {
        let side = |state| self.known.get(state);
        let MergeSpec { take, on_conflict, resolve, .. } = self.spec.clone();
        let rule = MergeRule { take, on_conflict, resolve };
        Some(MergePlan::new(side(&self.base)?, side(&self.ours)?, side(&self.theirs)?, &rule))
    }
}

/// How a merge is answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// This reply.
    Reply(Box<Reply>),
    /// The reply comes when this run has ended. The run has to be requested; the texts are its
    /// warnings.
    Run(Box<RunSpec>, Vec<String>),
}

/// The merges that wait for digests.
#[derive(Debug, Default)]
pub(super) struct Merges {
    waiting: Vec<Waiting>,
}

impl Merges {
    /// Handles a request for a merge. Returns the answer unless the client has to wait.
    pub(super) fn ask(
        &mut self,
        core: &mut Core,
        listings: &Listings,
        ticket: Ticket,
        spec: MergeSpec,
    ) -> Result<Option<Answer>, Problem> {
        let theirs = core.resolve_state(spec.from.clone())?;
        if let Some(run) = core.notebook.run(&spec.exec_id)
            && let (Some((from, _)), Base::State(into)) = (Take::read(&run.code), &run.asked.on)
            && from == theirs
        {
            let on = Base::State(into.clone());
            let again =
                RunSpec { new_state_name: spec.new_state_name, ..RunSpec::new(spec.exec_id, &run.code, on) };
            return Ok(Some(Answer::Run(Box::new(again), Vec::new())));
        }
        let ours = core.resolve_state(spec.into.clone())?;
        let refused = |kind, why, how| Err(Problem::new(kind, "take variables", why, how));
        if ours == theirs {
            return refused(Kind::Conflict, "both states are the same one", "name two states");
        }
        if self.waiting.len() >= MAX_WAITING {
            return refused(Kind::Busy, "too many merges are waiting", "try again");
        }
        let base = common_ancestor(core, &ours, &theirs);
        for state in [&ours, &theirs, &base] {
            core.runnable(state)?;
        }
        let mut waiting = Waiting { ticket, spec, ours, theirs, base, known: BTreeMap::new() };
        for state in waiting.missing() {
            if let Some(digests) = listings.digests_of(core, &state)? {
                waiting.known.insert(state, digests);
            }
        }
        if waiting.missing().is_empty() {
            return Ok(answer(&waiting));
        }
        self.waiting.push(waiting);
        Ok(None)
    }

    /// Handles the digests of a state, or the failure to compute them. Returns the merges that can
    /// now be answered.
    pub(super) fn learned(
        &mut self,
        state: &StateId,
        found: &Result<Digests, Problem>,
    ) -> Vec<(Ticket, Answer)> {
        let mut answers = Vec::new();
        let mut still = Vec::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            match found {
                _ if !waiting.needs(state) => still.push(waiting),
                Err(problem) => {
                    answers.push((waiting.ticket, Answer::Reply(Box::new(Reply::Refused(problem.clone())))));
                }
                Ok(digests) => {
                    waiting.known.insert(state.clone(), digests.clone());
                    match answer(&waiting) {
                        Some(answer) => answers.push((waiting.ticket, answer)),
                        None => still.push(waiting),
                    }
                }
            }
        }
        self.waiting = still;
        answers
    }
}

/// The answer to a merge; none while digests are missing.
fn answer(waiting: &Waiting) -> Option<Answer> {
    let plan = match waiting.plan()? {
        Ok(plan) => plan,
        Err(refused) => return Some(Answer::Reply(Box::new(Reply::Refused(refused)))),
    };
    let refusal = plan.refusal();
    if waiting.spec.dry_run {
        return Some(Answer::Reply(Box::new(Reply::MergePlanned { plan, refusal })));
    }
    if let Some(refused) = refusal {
        return Some(Answer::Reply(Box::new(Reply::Refused(refused))));
    }
    let (code, on) = (plan.take().code(&waiting.theirs), Base::State(waiting.ours.clone()));
    let run = RunSpec {
        new_state_name: waiting.spec.new_state_name.clone(),
        ..RunSpec::new(waiting.spec.exec_id.clone(), code, on)
    };
    Some(Answer::Run(Box::new(run), plan.warnings))
}

/// The nearest common ancestor of two states that was not deleted.
fn common_ancestor(core: &Core, a: &StateId, b: &StateId) -> StateId {
    let of_a: BTreeSet<&StateId> = core.notebook.ancestry(a).map(|state| &state.id).collect();
    let common = core.notebook.ancestry(b).find(|state| {
        of_a.contains(&state.id) && (state.id.is_root() || state.residency != Residency::Deleted)
    });
    common.map_or_else(StateId::root, |state| state.id.clone())
}
