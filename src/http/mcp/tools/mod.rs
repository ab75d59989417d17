//! The tools: their table, and what all of them share.
//!
//! A state is always named by its id, and there is no current one: agents and people use a notebook
//! at the same time. Every tool takes the notebook's name, too.

mod look;
mod many;
mod run;
mod take;

use super::arguments::{
    CompareArguments, CompareResult, HistoryArguments, HistoryResult, InterruptArguments, InterruptResult,
    ManyResult, PeekArguments, PeekResult, ReadRunArguments, RunArguments, RunManyArguments, RunResult,
    TakeArguments, TakeResult, input, output,
};
use super::message::RpcError;
use crate::http::agents::{AgentCall, Caller};
use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::notebook::{Command, ExecId, Reply, StateId};
use crate::problem::{Kind, Problem};
use crate::session::{Scope, Session};
use actix_web::web;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The longest time that a call waits, in seconds. Clients give up after 60.
const MAX_WAIT_S: f64 = 30.0;
/// How often a call looks whether a run has ended that another call began.
const POLL: Duration = Duration::from_millis(100);

/// One tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    /// The scope that it needs.
    scope: Scope,
    input: fn() -> Value,
    output: fn() -> Value,
}

/// All tools.
const TOOLS: [Tool; 8] = [
    Tool {
        name: "run",
        description: "Run Python against a state. A cell that succeeds leaves a new state; one that fails \
            changes nothing. So to correct a cell, run it again at the same state. If it takes longer than \
            wait_s, continue with read_run.",
        scope: Scope::Run,
        input: input::<RunArguments>,
        output: output::<RunResult>,
    },
    Tool {
        name: "read_run",
        description: "Wait for a run, and read its output after the cursor.",
        scope: Scope::View,
        input: input::<ReadRunArguments>,
        output: output::<RunResult>,
    },
    Tool {
        name: "run_many",
        description: "Run a cell with every combination of values, or several cells, each as a branch of one \
            state, in parallel.",
        scope: Scope::Run,
        input: input::<RunManyArguments>,
        output: output::<ManyResult>,
    },
    Tool {
        name: "peek",
        description: "Evaluate an expression, or describe variables, in a copy of a state that is thrown away.",
        scope: Scope::View,
        input: input::<PeekArguments>,
        output: output::<PeekResult>,
    },
    Tool {
        name: "compare",
        description: "How the cells and variables of two states differ.",
        scope: Scope::Run,
        input: input::<CompareArguments>,
        output: output::<CompareResult>,
    },
    Tool {
        name: "history",
        description: "The cells that ran, with their states. Begin here.",
        scope: Scope::View,
        input: input::<HistoryArguments>,
        output: output::<HistoryResult>,
    },
    Tool {
        name: "take",
        description: "Copy variables of one state into a new child of another.",
        scope: Scope::Run,
        input: input::<TakeArguments>,
        output: output::<TakeResult>,
    },
    Tool {
        name: "interrupt",
        description: "Interrupt a run, or stop a sweep.",
        scope: Scope::Run,
        input: input::<InterruptArguments>,
        output: output::<InterruptResult>,
    },
];

/// The list of the tools.
pub(super) fn list() -> Value {
    let one = |tool: &Tool| {
        // Clients call tools with this hint without asking the person. `peek` evaluates any code.
        let is_read_only = matches!(tool.name, "read_run" | "compare" | "history");
        json!({
            "name": tool.name, "description": tool.description,
            "inputSchema": (tool.input)(), "outputSchema": (tool.output)(),
            "annotations": {"readOnlyHint": is_read_only, "openWorldHint": !is_read_only},
        })
    };
    TOOLS.iter().map(one).collect()
}

/// A call of a tool.
pub(super) struct Call {
    app: web::Data<AppState>,
    access: Access,
    caller: Caller,
}

/// What a tool answers.
struct Answer {
    structured: Value,
    /// Pictures and links.
    items: Vec<Value>,
}

impl Answer {
    fn new(result: &impl Serialize, items: Vec<Value>) -> Self {
        Self { structured: serde_json::to_value(result).unwrap_or_default(), items }
    }
}

impl Call {
    pub(super) fn new(app: web::Data<AppState>, access: Access, caller: Caller) -> Self {
        Self { app, access, caller }
    }

    /// Calls a tool. An error of the tool is a result, which the model reads.
    ///
    /// # Errors
    /// When there is no tool of this name.
    pub(super) async fn answer(self, name: &str, arguments: Map<String, Value>) -> Result<Value, RpcError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| RpcError::invalid_params(format!("there is no tool {name:?}")))?;
        Ok(match self.carry_out(tool, arguments).await {
            Ok(Answer { structured, items }) => {
                let text = json!({"type": "text", "text": structured.to_string()});
                let content: Vec<Value> = std::iter::once(text).chain(items).collect();
                json!({"content": content, "structuredContent": structured, "isError": false})
            }
            Err(Problem { what, why, how, .. }) => {
                let text = format!("cannot {what}: {why}\n{how}");
                json!({"content": [{"type": "text", "text": text}], "isError": true})
            }
        })
    }

    async fn carry_out(self, tool: &Tool, arguments: Map<String, Value>) -> Result<Answer, Problem> {
        if self.access.scope < tool.scope {
            let why = format!(
                "this token has the scope `{}`, and the tool needs `{}`",
                self.access.scope.word(),
                tool.scope.word()
            );
            let how = "ask the owner for a token with that scope";
            return Err(Problem::new(Kind::Forbidden, format!("call {}", tool.name), why, how));
        }
        match tool.name {
            "run" => run::run(self, read(tool, arguments)?).await,
            "read_run" => run::read_run(self, read(tool, arguments)?).await,
            "run_many" => many::run_many(self, read(tool, arguments)?).await,
            "peek" => look::peek(self, read(tool, arguments)?).await,
            "compare" => look::compare(self, read(tool, arguments)?).await,
            "history" => look::history(self, read(tool, arguments)?).await,
            "take" => take::take(self, read(tool, arguments)?).await,
            _ => take::interrupt(self, read(tool, arguments)?).await,
        }
    }

    /// Opens the notebook that the arguments name; without a name, the only one that the token
    /// opens, or else the one that the server was started with.
    async fn open(self, name: Option<&str>) -> Result<OpenCall, Problem> {
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
struct OpenCall {
    app: web::Data<AppState>,
    access: Access,
    session: Session,
    agent: AgentCall,
}

impl OpenCall {
    /// The id of a state, by its id or name. The visitors see the agent there.
    async fn state(&self, text: &str) -> Result<StateId, Problem> {
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
    async fn stand_at(&self, state: StateId) {
        let Some(report) = self.agent.move_to(state) else { return };
        if let Some(id) = self.app.report_agent(report).await {
            self.agent.set_participant(id);
        }
    }

    /// Asks a question about a state. If other questions take all processes that answer, waits.
    async fn ask_when_free(&self, question: &Command) -> Result<Reply, Problem> {
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
    fn stop_if_cancelled(&self, commands: Vec<Command>) -> StopIfCancelled {
        StopIfCancelled {
            app: self.app.clone(),
            access: self.access.clone(),
            session: self.session.clone(),
            commands: RefCell::new(commands),
        }
    }
}

/// Sends commands when it is dropped, unless it was finished.
struct StopIfCancelled {
    app: web::Data<AppState>,
    access: Access,
    session: Session,
    commands: RefCell<Vec<Command>>,
}

impl StopIfCancelled {
    /// The call was not cancelled.
    fn finish(&self) {
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

fn read<T: DeserializeOwned>(tool: &Tool, arguments: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let how = "see the tool's inputSchema";
        Problem::bad_request(format!("read the arguments of {}", tool.name), error.to_string(), how)
    })
}

fn wait(seconds: Option<f64>) -> Result<Duration, Problem> {
    let seconds = seconds.unwrap_or(MAX_WAIT_S);
    if !(0.0..=MAX_WAIT_S).contains(&seconds) {
        let why = format!("`wait_s` is not between 0 and {MAX_WAIT_S}");
        let how = "pass a number in that range; a run outlives the wait, and read_run waits again";
        return Err(Problem::bad_request(format!("wait {seconds} s"), why, how));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn new_run() -> ExecId {
    ExecId::new(format!("agent-{}", uuid::Uuid::new_v4().simple()))
}

/// A value as its JSON text without quotes: `ok`, `memory`.
fn word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn descriptions(value: &Value) -> usize {
        match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| match (key.as_str(), value) {
                    ("description", Value::String(text)) => text.len(),
                    _ => descriptions(value),
                })
                .sum(),
            Value::Array(items) => items.iter().map(descriptions).sum(),
            _ => 0,
        }
    }

    #[test]
    fn all_descriptions_together_are_shorter_than_2_kb() {
        let all = list();
        let (bytes, whole) = (descriptions(&all), all.to_string().len());
        assert!(bytes < 2048, "{bytes}");
        assert!(whole < 14_000, "the whole list has {whole} bytes");
    }

    #[test]
    fn the_schemas_name_all_fields_and_refuse_others() {
        let all = list();
        for tool in all.as_array().unwrap() {
            let (input, output) = (&tool["inputSchema"], &tool["outputSchema"]);
            assert_eq!((&input["type"], &input["additionalProperties"]), (&json!("object"), &json!(false)));
            assert!(input["properties"].get("notebook").is_some(), "{tool}");
            assert_eq!(output["type"], "object", "{tool}");
            let takes_code = ["code", "expr"].iter().any(|name| input["properties"].get(name).is_some());
            assert!(!takes_code || tool["annotations"]["readOnlyHint"] == false, "{tool}");
            assert!(!tool.to_string().contains("$ref"), "{tool}");
        }
        assert_eq!(all[0]["inputSchema"]["required"], json!(["at", "code"]));
    }

    #[test]
    fn a_wait_has_a_limit() {
        assert_eq!(wait(None).unwrap(), Duration::from_secs(30));
        assert_eq!(wait(Some(0.0)).unwrap(), Duration::ZERO);
        for bad in [-1.0, 31.0, f64::NAN] {
            assert!(wait(Some(bad)).is_err());
        }
    }
}
