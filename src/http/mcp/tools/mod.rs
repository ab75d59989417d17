//! The tools: their table, and how they are called.
//!
//! A state is always named by its id, and there is no current one: agents and people use a notebook
//! at the same time. Every tool takes the notebook's name, too.

mod call;
mod look;
mod many;
mod run;
mod take;

use self::call::Answer;
pub(super) use self::call::Call;
use super::arguments::{
    CompareArguments, CompareResult, HistoryArguments, HistoryResult, InterruptArguments, InterruptResult,
    ManyResult, PeekArguments, PeekResult, ReadRunArguments, RunArguments, RunManyArguments, RunResult,
    TakeArguments, TakeResult, input, output,
};
use super::message::RpcError;
use crate::problem::{Kind, Problem};
use crate::session::Scope;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

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

impl Call {
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
}

fn read<T: DeserializeOwned>(tool: &Tool, arguments: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let how = "see the tool's inputSchema";
        Problem::bad_request(format!("read the arguments of {}", tool.name), error.to_string(), how)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::call::wait;
    use super::*;
    use std::time::Duration;

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
