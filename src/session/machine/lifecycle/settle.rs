//! Carries out what parts of the machine ask of each other (`FollowUp`), and requests for runs, on
//! which merges and sweeps build.

use super::begin::{begin, may_begin, resume};
use super::refreeze::refreeze_at;
use super::removal::{drop_attempt, forget_deleted};
use crate::notebook::{Digests, Reply, RunSpec, StateId};
use crate::problem::{Kind, Problem};
use crate::session::machine::core::FollowUp;
use crate::session::machine::effect::Ticket;
use crate::session::machine::merges::Answer;
use crate::session::machine::parts::Parts;
use crate::session::machine::runs;
use crate::session::machine::sweeps;

/// Handles a request for a run. Returns the answer unless the client has to wait.
pub(in crate::session::machine) fn ask_run(
    parts: &mut Parts,
    ticket: impl Into<Option<Ticket>>,
    spec: RunSpec,
) -> Result<Option<Reply>, Problem> {
    let ticket = ticket.into();
    if ticket.is_some() && sweeps::is_reserved(&parts.core, &spec.exec_id) {
        let (what, why) = (format!("run {}", spec.exec_id), "ids of this form belong to a sweep");
        return Err(Problem::new(Kind::Conflict, what, why, "use another exec_id"));
    }
    let spec = runs::resolve_names(&parts.core, spec)?;
    if runs::was_refused(&parts.core, &spec) {
        drop_attempt(parts, &spec.exec_id);
    }
    for state in runs::read_states(&spec) {
        refreeze_at(parts, &state);
    }
    parts.runs.ask(&mut parts.core, ticket, spec)
}

/// Carries out the requests between parts of the machine (`FollowUp`).
pub(in crate::session::machine) fn settle(parts: &mut Parts) {
    while let Some(follow_up) = parts.core.next_follow_up() {
        match follow_up {
            FollowUp::Begin(run, state) => begin(parts, &run, &state),
            FollowUp::BeginReplayed(run, state) => {
                parts.runs.note_replayed(&run);
                begin(parts, &run, &state);
            }
            FollowUp::Resume(run) => resume(parts, &run),
            FollowUp::Fail(run, error) => parts.runs.fail(&mut parts.core, &run, error),
            FollowUp::SaveNext => parts.save_next(),
            FollowUp::Digested(state, found) => learned_digests(parts, &state, &found),
            FollowUp::ForgetDeleted(state) => forget_deleted(parts, &state),
            FollowUp::Answered(ticket, reply) => parts.sweeps.answered(&mut parts.core, ticket, *reply),
        }
    }
}

/// Begins runs in the backlog while further cells may begin.
pub(in crate::session::machine) fn serve_backlog(parts: &mut Parts) {
    while !parts.runs.backlog.is_empty()
        && may_begin(parts)
        && let Some(exec_id) = parts.runs.backlog.pop_front()
    {
        resume(parts, &exec_id);
        settle(parts);
    }
}

/// Carries out the answer to a merge. Returns the reply, unless the client has to wait for a
/// run.
pub(in crate::session::machine) fn answer_merge(
    parts: &mut Parts,
    ticket: Ticket,
    answer: Answer,
) -> Result<Option<Reply>, Problem> {
    let (spec, warnings) = match answer {
        Answer::Reply(reply) => return Ok(Some(*reply)),
        Answer::Run(spec, warnings) => (spec, warnings),
    };
    let exec_id = spec.exec_id.clone();
    let reply = ask_run(parts, ticket, *spec)?;
    for warning in warnings {
        parts.core.warn_run(&exec_id, warning);
    }
    Ok(reply)
}

/// Answers the merges that have waited for the digests of a state.
fn learned_digests(parts: &mut Parts, state: &StateId, found: &Result<Digests, Problem>) {
    for (ticket, answer) in parts.merges.learned(state, found) {
        let answer = answer_merge(parts, ticket, answer);
        if let Some(reply) = answer.unwrap_or_else(|refused| Some(Reply::Refused(refused))) {
            parts.core.answer(ticket, reply);
        }
    }
}
