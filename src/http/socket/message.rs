//! The messages of the WebSocket except events: commands, replies, the greeting and the beat.

use crate::http::request::parse_json;
use crate::notebook::{Command, Reply, SandboxRules};
use crate::problem::{Kind, Problem};
use crate::session::Scope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The beat: a message that shows the client that the connection is alive.
pub(super) const BEAT: &str = r#"{"beat":true}"#;

/// A command, and the number that the client gave to it.
#[derive(Debug)]
pub(super) struct ClientMessage {
    /// The number of the command. The reply contains the same number.
    pub(super) id: u64,
    /// The command.
    pub(super) command: Command,
}

impl ClientMessage {
    /// Parses a message. The error contains the message's number, if the number could be read.
    pub(super) fn parse(text: &str) -> Result<Self, (Option<u64>, Problem)> {
        let mut fields: serde_json::Map<String, Value> =
            parse_json(text.as_bytes()).map_err(|e| (None, unreadable(&e.to_string())))?;
        let id = fields.remove("id").and_then(|id| id.as_u64());
        let Some(id) = id else {
            return Err((None, unreadable("its `id` is missing or not a number")));
        };
        let command = Command::deserialize(Value::Object(fields))
            .map_err(|e| (Some(id), unreadable(&e.to_string())))?;
        Ok(Self { id, command })
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(Kind::BadRequest, "read a message", why, r#"send JSON like {"id": 7, "do": "run", …}"#)
}

/// Whether a command is exempt from `MAX_IN_FLIGHT`. A client must be able to stop runs and to
/// answer `input()` while many runs await their replies.
pub(super) fn is_urgent(command: &Command) -> bool {
    matches!(command, Command::Interrupt { .. } | Command::AnswerInput { .. } | Command::Reset)
}

/// The error for a client that has too many commands in flight.
pub(super) fn too_many(limit: usize) -> Problem {
    Problem::new(
        Kind::Busy,
        "carry out the command",
        format!("{limit} commands of this connection have no reply yet"),
        "wait for some of the replies",
    )
}

#[derive(Serialize)]
struct ReplyMessage<'a> {
    reply: Option<u64>,
    #[serde(flatten)]
    answer: &'a Reply,
}

/// Returns the reply to a command, as JSON text.
pub(super) fn reply(id: u64, answer: &Reply) -> String {
    to_json(Some(id), answer)
}

/// Returns the refusal of a message, as JSON text. `id` is `None` if the message's number could not
/// be read.
pub(super) fn refusal(id: Option<u64>, refused: Problem) -> String {
    to_json(id, &Reply::Refused(refused))
}

fn to_json(reply: Option<u64>, answer: &Reply) -> String {
    // Serialising plain data into memory cannot fail.
    serde_json::to_string(&ReplyMessage { reply, answer }).unwrap_or_default()
}

/// The greeting: the first message to a client. It contains the client's scope, what cells may do
/// if that is restricted, whether the client may open terminals, whether the server was started
/// with this notebook, and the epoch of the events that follow.
pub(super) fn greeting(
    scope: Scope,
    sandbox: Option<&SandboxRules>,
    has_terminals: bool,
    is_start: bool,
    epoch: &str,
) -> String {
    let mut you = json!({"scope": scope.word()});
    if let Some(sandbox) = sandbox {
        you["sandbox"] = json!(sandbox);
    }
    if has_terminals {
        you["terminals"] = json!(true);
    }
    if is_start {
        you["start"] = json!(true);
    }
    json!({"epoch": epoch, "you": you}).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::notebook::ExecId;

    #[test]
    fn a_command_has_a_number() {
        let message = ClientMessage::parse(r#"{"id":7,"do":"interrupt","exec_id":"a"}"#).unwrap();
        assert_eq!((message.id, message.command), (7, Command::Interrupt { exec_id: ExecId::new("a") }));
    }

    #[test]
    fn malformed_messages_are_refused_with_their_number_if_they_have_one() {
        for (text, id) in [
            ("", None),
            ("[]", None),
            ("7", None),
            (r#"{"do":"reset"}"#, None),
            (r#"{"id":-1,"do":"reset"}"#, None),
            (r#"{"id":"7","do":"reset"}"#, None),
            (r#"{"id":7}"#, Some(7)),
            (r#"{"id":7,"do":"dance"}"#, Some(7)),
            (r#"{"id":7,"do":"interrupt"}"#, Some(7)),
            (r#"{"id":7,"do":"interrupt","exec_id":"a","x":1}"#, Some(7)),
            (r#"{"id":7,"id":8,"do":"reset"}"#, None),
        ] {
            let (own, refused) = ClientMessage::parse(text).unwrap_err();
            assert_eq!((own, refused.kind), (id, Kind::BadRequest), "{text}");
        }
    }

    #[test]
    fn replies_and_greetings_are_flat_json() {
        assert_eq!(greeting(Scope::View, None, false, false, "e"), r#"{"epoch":"e","you":{"scope":"view"}}"#);
        assert_eq!(reply(7, &Reply::Done), r#"{"reply":7,"kind":"done"}"#);
        assert_eq!(
            refusal(None, Problem::new(Kind::Busy, "w", "y", "h")),
            r#"{"reply":null,"kind":"refused","code":"busy","what":"w","why":"y","how":"h"}"#
        );
    }
}
