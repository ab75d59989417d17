//! A call of a tool: who calls, the notebook, and what is stopped if the call is cancelled.

use crate::http::agents::{AgentCall, Caller};
use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::notebook::{Command, ExecId, Reply, StateId};
use crate::problem::{Kind, Problem};
use crate::session::Session;
use actix_web::web;
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The longest time that a call waits, in seconds. Clients give up after 60.
pub(super) const MAX_WAIT_S: f64 = 30.0;

/// How often a call looks whether a run has ended that another call began.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// A call of a tool.
pub(in crate::http::mcp) struct Call {
    pub(super) app: web::Data<AppState>,
    pub(super) access: Access,
    pub(super) caller: Caller,
}

/// What a tool answers.
pub(super) struct Answer {
    pub(super) structured: Value,
    /// Pictures and links.
    pub(super) items: Vec<Value>,
}

impl Answer {
    pub(super) fn new(result: &impl Serialize, items: Vec<Value>) -> Self {
        Self { structured: serde_json::to_value(result).unwrap_or_default(), items }
    }
}

impl Call {
    /// A call by this caller.
    pub(in crate::http::mcp) fn new(app: web::Data<AppState>, access: Access, caller: Caller) -> Self {
        Self { app, access, caller }
    }

    /// Opens the notebook that the arguments name; without a name, the only one that the token
    /// opens, or else the one that the server was started with.
    pub(super) async fn open(self, name: Option<&str>) -> Result<OpenCall, Problem> {
        let own = || self.access.notebook.as_deref().unwrap_or_else(|| self.app.start.name());
        let name = name.unwrap_or_else(own).to_owned();
        if !self.access.opens(&name) {
            let (why, how) = ("this token is for another notebook", "leave the argument `notebook` out");
            return Err(Problem::new(Kind::Forbidden, format!("open notebook {name:?}"), why, how));
        }
        let session = AppState::notebook(&self.app, &name).await?;
        let agent = self.app.agents.begin(&session, &self.access, &self.caller);
        Ok(OpenCall { app: self.app, access: self.access, session, agent })
    }
}

/// A call with its notebook.
pub(super) struct OpenCall {
    pub(super) app: web::Data<AppState>,
    pub(super) access: Access,
    pub(super) session: Session,
    pub(super) agent: AgentCall,
}

impl OpenCall {
    /// The id of a state, by its id or name. The visitors see the agent there.
    pub(super) async fn state(&self, text: &str) -> Result<StateId, Problem> {
        let wanted = text.to_owned();
        let found = self.session.read(move |notebook| notebook.find(&wanted).map(|s| s.id.clone())).await?;
        let found = found.ok_or_else(|| {
            let how = "the tool `history` lists the states; the first is \"initial\"";
            Problem::new(Kind::NotFound, format!("find state {text:?}"), "no state has this id", how)
        })?;
        self.stand_at(found.clone()).await;
        Ok(found)
    }

    /// The visitors of the notebook see the agent at this state.
    pub(super) async fn stand_at(&self, state: StateId) {
        let Some(report) = self.agent.move_to(state) else { return };
        if let Some(id) = self.app.report_agent(report).await {
            self.agent.set_participant(id);
        }
    }

    /// Asks a question about a state. If other questions take all processes that answer, waits.
    pub(super) async fn ask_when_free(&self, question: &Command) -> Result<Reply, Problem> {
        let by = Instant::now() + Duration::from_secs_f64(MAX_WAIT_S);
        loop {
            match self.app.ask(&self.session, &self.access, question.clone()).await {
                Err(busy) if busy.kind == Kind::Busy && Instant::now() < by => {
                    tokio::time::sleep(POLL).await;
                }
                answer => return answer,
            }
        }
    }

    /// Stops what a call has begun if the call is cancelled before `finish`.
    pub(super) fn stop_if_cancelled(&self, commands: Vec<Command>) -> StopIfCancelled {
        StopIfCancelled {
            app: self.app.clone(),
            access: self.access.clone(),
            session: self.session.clone(),
            commands: RefCell::new(commands),
        }
    }
}

/// Sends commands when it is dropped, unless it was finished.
pub(super) struct StopIfCancelled {
    app: web::Data<AppState>,
    access: Access,
    session: Session,
    commands: RefCell<Vec<Command>>,
}

impl StopIfCancelled {
    /// The call was not cancelled.
    pub(super) fn finish(&self) {
        self.commands.borrow_mut().clear();
    }
}

impl Drop for StopIfCancelled {
    fn drop(&mut self) {
        let commands = std::mem::take(&mut *self.commands.borrow_mut());
        if commands.is_empty() {
            return;
        }
        let (app, access, session) = (self.app.clone(), self.access.clone(), self.session.clone());
        actix_web::rt::spawn(async move {
            for command in commands {
                // Refused if it has ended in the meantime.
                let _ = app.ask(&session, &access, command).await;
            }
        });
    }
}

pub(super) fn wait(seconds: Option<f64>) -> Result<Duration, Problem> {
    let seconds = seconds.unwrap_or(MAX_WAIT_S);
    if !(0.0..=MAX_WAIT_S).contains(&seconds) {
        let why = format!("`wait_s` is not between 0 and {MAX_WAIT_S}");
        let how = "pass a number in that range; a run outlives the wait, and read_run waits again";
        return Err(Problem::bad_request(format!("wait {seconds} s"), why, how));
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) fn new_run() -> ExecId {
    ExecId::new(format!("agent-{}", uuid::Uuid::new_v4().simple()))
}

/// A value as its JSON text without quotes: `ok`, `memory`.
pub(super) fn word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}
