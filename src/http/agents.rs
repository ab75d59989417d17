//! Agents: the programs that use notebooks over MCP. A person at the page sees an agent as a
//! visitor, and can stop it.
//!
//! MCP has no connection that could carry presence. So an agent is present from its first call in a
//! notebook until some time after its last one. Two programs with the same name and the same rights
//! are one agent, unless they have sessions (before revision 2026-07-28).

use super::auth::Access;
use crate::notebook::{AgentStatus, Command, ExecId, StateId, SweepId};
use crate::problem::{Kind, Problem};
use crate::session::{Session, Visit};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// How long an agent stays present after its last call.
const PRESENCE_LASTS: Duration = Duration::from_secs(120);
/// Maximum number of agents that are remembered. Each has at most one entry per notebook.
const MAX_AGENTS: usize = 100;
/// Maximum number of runs and sweeps that are remembered of one agent, to stop them.
const MAX_STARTED: usize = 2000;
/// Maximum length of an agent's name, in characters, as for visitors.
const MAX_NAME_CHARS: usize = 40;

/// All agents that are present.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents(Arc<Mutex<HashMap<AgentKey, Agent>>>);

/// A notebook, and what tells its agents apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AgentKey {
    notebook: String,
    identity: String,
}

#[derive(Debug)]
struct Agent {
    visit: Arc<Visit>,
    /// Its id among the participants; `None` before the first report.
    participant: Option<String>,
    name: String,
    /// The state that it used last.
    state: StateId,
    is_stopped: bool,
    /// Number of its calls that are being answered.
    calls: usize,
    last_call: Instant,
    runs: HashSet<ExecId>,
    sweeps: HashSet<SweepId>,
}

/// Who calls a tool.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The name of the program, as it says.
    pub(crate) name: String,
    /// The session, in the revisions that have them.
    pub(crate) session: Option<String>,
}

/// A call of an agent that is being answered. The agent is present at least until it is dropped.
#[derive(Debug)]
pub(crate) struct AgentCall {
    agents: Agents,
    key: AgentKey,
}

/// What an agent has begun in a notebook.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) runs: Vec<ExecId>,
    pub(crate) sweeps: Vec<SweepId>,
}

impl Agents {
    fn lock(&self) -> MutexGuard<'_, HashMap<AgentKey, Agent>> {
        // Every change is a single statement on the map, so a panic leaves no half-done change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call. The agent becomes visible when it first uses a state.
    pub(crate) fn begin(&self, session: &Session, access: &Access, caller: &Caller) -> AgentCall {
        let name: String = caller.name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
        let name = if name.trim().is_empty() { "Agent".to_owned() } else { name };
        let identity = caller.session.clone().unwrap_or_else(|| format!("{}/{name}", access.identity()));
        let key = AgentKey { notebook: session.name().to_owned(), identity };
        let mut all = self.lock();
        if all.len() >= MAX_AGENTS && !all.contains_key(&key) {
            let idle = all.iter().filter(|(_, agent)| agent.calls == 0 && !agent.is_stopped);
            let oldest = idle.min_by_key(|(_, agent)| agent.last_call).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let agent = all.entry(key.clone()).or_insert_with(|| Agent {
            visit: Arc::new(session.visit(access.scope, &key.identity)),
            participant: None,
            name,
            state: StateId::root(),
            is_stopped: false,
            calls: 0,
            last_call: Instant::now(),
            runs: HashSet::new(),
            sweeps: HashSet::new(),
        });
        agent.calls += 1;
        AgentCall { agents: self.clone(), key }
    }

    /// Stops an agent, or lets it continue. Returns what it has begun, some of which may have
    /// ended, and the report that the visitors need.
    ///
    /// # Errors
    /// 404 when no agent of the notebook has this id.
    pub(crate) fn stop(
        &self,
        notebook: &str,
        participant: &str,
        is_stopped: bool,
    ) -> Result<(Started, Report), Problem> {
        let mut all = self.lock();
        let found = all.iter_mut().find(|(key, agent)| {
            key.notebook == notebook && agent.participant.as_deref() == Some(participant)
        });
        let Some((_, agent)) = found else {
            return Err(Problem::not_found("stop the agent", "it has left the notebook"));
        };
        agent.is_stopped = is_stopped;
        agent.last_call = Instant::now();
        let runs = agent.runs.iter().cloned().collect();
        let sweeps = agent.sweeps.iter().cloned().collect();
        Ok((Started { runs, sweeps }, agent.report()))
    }

    /// Whether an agent of the notebook has asked for this run.
    pub(crate) fn have_begun(&self, notebook: &str, run: &ExecId) -> bool {
        self.lock().iter().any(|(key, agent)| key.notebook == notebook && agent.runs.contains(run))
    }

    /// Ends the presence of an agent that has made no call for some time.
    fn expire(&self, key: &AgentKey) {
        let mut all = self.lock();
        let is_gone = all.get(key).is_some_and(|agent| {
            agent.calls == 0 && !agent.is_stopped && agent.last_call.elapsed() >= PRESENCE_LASTS
        });
        let gone = is_gone.then(|| all.remove(key));
        drop(all);
        drop(gone);
    }
}

/// A report of presence, for `AppState::report_agent`.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) visit: Arc<Visit>,
    pub(crate) state: StateId,
    pub(crate) name: String,
    pub(crate) status: AgentStatus,
}

impl Agent {
    fn report(&self) -> Report {
        let status = AgentStatus { stopped: self.is_stopped };
        Report { visit: self.visit.clone(), state: self.state.clone(), name: self.name.clone(), status }
    }
}

impl AgentCall {
    /// Another call of the same agent, for work that outlives this one.
    pub(crate) fn again(&self) -> Self {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            agent.calls += 1;
        }
        Self { agents: self.agents.clone(), key: self.key.clone() }
    }

    /// Refuses to run code for an agent that a person has stopped.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn check_may_run(&self) -> Result<(), Problem> {
        if !self.agents.lock().get(&self.key).is_some_and(|agent| agent.is_stopped) {
            return Ok(());
        }
        let why = "a person at the notebook's page has stopped this agent";
        let how = "ask the person; the list of visitors on the page lets it continue";
        Err(Problem::new(Kind::Forbidden, "run code", why, how))
    }

    /// Notes that the agent uses a state. Returns the report for the visitors.
    pub(crate) fn move_to(&self, state: StateId) -> Option<Report> {
        let mut all = self.agents.lock();
        let agent = all.get_mut(&self.key)?;
        agent.state = state;
        Some(agent.report())
    }

    /// Notes the agent's id among the participants.
    pub(crate) fn set_participant(&self, id: String) {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            agent.participant = Some(id);
        }
    }

    /// Notes runs that the agent begins.
    pub(crate) fn add_runs(&self, runs: impl IntoIterator<Item = ExecId>) {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            if agent.runs.len() > MAX_STARTED {
                agent.runs.clear();
            }
            agent.runs.extend(runs);
        }
    }

    /// Notes a sweep that the agent begins.
    pub(crate) fn add_sweep(&self, sweep: SweepId) {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            agent.sweeps.insert(sweep);
        }
    }

    /// Forgets runs that have ended.
    pub(crate) fn remove_run(&self, run: &ExecId) {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            agent.runs.remove(run);
        }
    }
}

impl Drop for AgentCall {
    fn drop(&mut self) {
        if let Some(agent) = self.agents.lock().get_mut(&self.key) {
            agent.calls = agent.calls.saturating_sub(1);
            agent.last_call = Instant::now();
        }
        let (agents, key) = (self.agents.clone(), self.key.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(PRESENCE_LASTS).await;
                agents.expire(&key);
            });
        }
    }
}

impl Started {
    /// The commands that stop all of it.
    pub(crate) fn stop_commands(self) -> Vec<Command> {
        let runs = self.runs.into_iter().map(|exec_id| Command::Interrupt { exec_id });
        let sweeps = self.sweeps.into_iter().map(|sweep| Command::StopSweep { sweep });
        sweeps.chain(runs).collect()
    }
}

/// The calls of agents that a notification can cancel, by session and request id.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsInFlight(Arc<Mutex<HashMap<(String, String), AbortHandle>>>);

impl CallsInFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call until `remove`.
    pub(crate) fn add(&self, key: (String, String), call: AbortHandle) {
        let mut all = self.lock();
        all.retain(|_, call| !call.is_finished());
        all.insert(key, call);
    }

    /// The call has ended.
    pub(crate) fn remove(&self, key: &(String, String)) {
        self.lock().remove(key);
    }

    /// Cancels the call that a notification names.
    pub(crate) fn cancel(&self, session: Option<&str>, params: &Map<String, Value>) {
        let (Some(session), Some(id)) = (session, params.get("requestId")) else { return };
        if let Some(call) = self.lock().remove(&(session.to_owned(), id.to_string())) {
            call.abort();
        }
    }
}
