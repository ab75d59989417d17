//! The widgets of a run: the models that its cell made or changed, and their messages.
//!
//! A widget is an object of ipywidgets in a process, and a *model* of the same id on the page. The
//! two exchange messages (Jupyter's comm messages of the target `jupyter.widget`). A run keeps what
//! its messages have set. A model's look at a state is the sum of this over the runs of the state's
//! lineage, so branches may show one widget with different values.

use super::size::value_size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum size of the models that one run keeps, in bytes of JSON. Later changes are dropped. A
/// model of anywidget contains its JavaScript, which may have some megabytes.
const MAX_WIDGET_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of models that one run keeps. A slider has three: itself, its layout and its
/// style.
const MAX_WIDGET_MODELS: usize = 10_000;

/// Memory that a model takes besides its content, in bytes.
const MODEL_BYTES: usize = 200;

/// Binary data in the state of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WidgetBuffer {
    /// The place in the state: keys and indexes.
    pub path: Vec<Value>,
    /// The bytes, in base64.
    pub data: String,
}

/// A message between a widget in a process and its model on the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum WidgetMessage {
    /// A widget was made.
    Open {
        /// The model's id.
        model: String,
        /// The whole state.
        state: Map<String, Value>,
        /// The binary data of the state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        buffers: Vec<WidgetBuffer>,
    },
    /// Parts of a model's state changed.
    Update {
        /// The model's id.
        model: String,
        /// The parts that changed.
        state: Map<String, Value>,
        /// The binary data of these parts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        buffers: Vec<WidgetBuffer>,
        /// The id that a page gave to its update. The process repeats it when it sends the same
        /// values to all pages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        echo: Option<String>,
    },
    /// A message whose content only the widget knows, for example a click.
    Custom {
        /// The model's id.
        model: String,
        /// The content.
        content: Value,
        /// Binary data, in base64.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        buffers: Vec<String>,
    },
    /// A widget was closed.
    Close {
        /// The model's id.
        model: String,
    },
}

impl WidgetMessage {
    /// The id of the model.
    pub fn model(&self) -> &str {
        match self {
            Self::Open { model, .. }
            | Self::Update { model, .. }
            | Self::Custom { model, .. }
            | Self::Close { model } => model,
        }
    }

    /// The approximate size as JSON, in bytes.
    pub fn size(&self) -> usize {
        MODEL_BYTES
            + match self {
                Self::Open { state, buffers, .. } | Self::Update { state, buffers, .. } => {
                    size_of_state(state, buffers)
                }
                Self::Custom { content, buffers, .. } => {
                    value_size(content) + buffers.iter().map(String::len).sum::<usize>()
                }
                Self::Close { .. } => 0,
            }
    }

    /// Adds the next message to this one, if both together are one update. Returns the other
    /// message if they are not.
    pub fn join(&mut self, next: Self) -> Option<Self> {
        let (Self::Open { model: own, state, buffers }
        | Self::Update { model: own, state, buffers, echo: None }) = self
        else {
            return Some(next);
        };
        match next {
            Self::Update { model, state: new, buffers: more, echo: None } if model == *own => {
                put(state, buffers, new, more);
                None
            }
            next => Some(next),
        }
    }
}

/// What a run has set in one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WidgetModel {
    /// The parts of the state that the run has set; the whole state if it made the widget.
    pub state: Map<String, Value>,
    /// The binary data of these parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<WidgetBuffer>,
    /// Whether the widget was closed. Absent when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

impl WidgetModel {
    fn size(&self) -> usize {
        MODEL_BYTES + size_of_state(&self.state, &self.buffers)
    }
}

/// The models that a run has made or changed, by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Widgets {
    /// Shared with snapshots, like the outputs.
    models: Arc<BTreeMap<String, WidgetModel>>,
    bytes: usize,
}

impl Widgets {
    /// Whether the run has made and changed no widget.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Applies a message. Returns false if the limits leave no room for it; nothing has changed
    /// then.
    pub fn apply(&mut self, message: &WidgetMessage) -> bool {
        let (model, new, more, closes) = match message {
            WidgetMessage::Open { model, state, buffers }
            | WidgetMessage::Update { model, state, buffers, .. } => {
                (model, state, buffers.as_slice(), false)
            }
            WidgetMessage::Close { model } => (model, &Map::new(), [].as_slice(), true),
            WidgetMessage::Custom { .. } => return true,
        };
        let old = self.models.get(model);
        let replaced = old.map_or(0, |old| {
            old.state
                .iter()
                .filter(|(key, _)| new.contains_key(*key))
                .map(|(key, value)| key.len() + value_size(value))
                .sum::<usize>()
        });
        let is_full = (self.bytes + size_of_state(new, more) + MODEL_BYTES).saturating_sub(replaced)
            > MAX_WIDGET_BYTES
            || old.is_none() && self.models.len() >= MAX_WIDGET_MODELS;
        if is_full && !closes {
            return false;
        }
        let before = old.map_or(0, WidgetModel::size);
        let models = Arc::make_mut(&mut self.models);
        let known = models.entry(model.clone()).or_default();
        if closes || matches!(message, WidgetMessage::Open { .. }) {
            *known = WidgetModel { closed: closes, ..WidgetModel::default() };
        }
        put(&mut known.state, &mut known.buffers, new.clone(), more.to_vec());
        self.bytes = self.bytes - before + known.size();
        true
    }

    /// The shortest list of messages that make these models.
    pub fn messages(&self) -> impl Iterator<Item = WidgetMessage> {
        self.models.iter().map(|(id, model)| match model {
            WidgetModel { closed: true, .. } => WidgetMessage::Close { model: id.clone() },
            WidgetModel { state, buffers, .. } => {
                WidgetMessage::Open { model: id.clone(), state: state.clone(), buffers: buffers.clone() }
            }
        })
    }

    /// The messages that turn these models back into those of `before`.
    pub fn messages_back_to(&self, before: &Self) -> Vec<WidgetMessage> {
        let changed = self.models.iter().filter(|(id, model)| before.models.get(*id) != Some(model));
        changed
            .map(|(id, _)| match before.models.get(id) {
                Some(WidgetModel { state, buffers, closed: false }) => {
                    WidgetMessage::Open { model: id.clone(), state: state.clone(), buffers: buffers.clone() }
                }
                _ => WidgetMessage::Close { model: id.clone() },
            })
            .collect()
    }
}

impl Serialize for Widgets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.models.serialize(serializer)
    }
}

/// Sets parts of a state. Binary data under the same keys is replaced.
fn put(
    state: &mut Map<String, Value>,
    buffers: &mut Vec<WidgetBuffer>,
    new: Map<String, Value>,
    more: Vec<WidgetBuffer>,
) {
    let key = |buffer: &WidgetBuffer| buffer.path.first().and_then(Value::as_str).map(str::to_owned);
    let replaced: BTreeSet<String> = new.keys().cloned().chain(more.iter().filter_map(key)).collect();
    buffers.retain(|buffer| key(buffer).is_none_or(|key| !replaced.contains(&key)));
    buffers.extend(more);
    state.extend(new);
}

fn size_of_state(state: &Map<String, Value>, buffers: &[WidgetBuffer]) -> usize {
    let values = state.iter().map(|(key, value)| key.len() + value_size(value)).sum::<usize>();
    values + buffers.iter().map(|buffer| buffer.data.len() + 40 * (1 + buffer.path.len())).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(value: Value) -> WidgetMessage {
        serde_json::from_value(value).expect("a message")
    }

    fn made() -> Widgets {
        let mut widgets = Widgets::default();
        let buffers = json!([{"path": ["a", 0], "data": "AA=="}, {"path": ["b"], "data": "AQ=="}]);
        let open =
            json!({"method": "open", "model": "m", "state": {"a": [null], "n": 1}, "buffers": buffers});
        assert!(widgets.apply(&message(open)));
        widgets
    }

    #[test]
    fn an_update_replaces_the_parts_that_it_names() {
        let mut widgets = made();
        let update = json!({"method": "update", "model": "m", "state": {"a": 7}});
        assert!(widgets.apply(&message(update)));
        let model = &widgets.models["m"];
        assert_eq!(Value::from(model.state.clone()), json!({"a": 7, "n": 1}));
        assert_eq!(model.buffers, [WidgetBuffer { path: vec!["b".into()], data: "AQ==".into() }]);
        assert_eq!(widgets.bytes, model.size());
    }

    #[test]
    fn the_shortest_messages_make_the_same_models() {
        let mut widgets = made();
        widgets.apply(&message(json!({"method": "update", "model": "x", "state": {"v": 1}})));
        widgets.apply(&message(json!({"method": "open", "model": "gone", "state": {}})));
        widgets.apply(&message(json!({"method": "close", "model": "gone"})));
        let mut again = Widgets::default();
        assert!(widgets.messages().all(|message| again.apply(&message)));
        assert_eq!(again, widgets);
    }

    #[test]
    fn what_a_dead_process_had_set_can_be_taken_back() {
        let before = made();
        let mut after = before.clone();
        after.apply(&message(json!({"method": "update", "model": "m", "state": {"n": 2}})));
        after.apply(&message(json!({"method": "open", "model": "new", "state": {}})));
        for message in after.clone().messages_back_to(&before) {
            after.apply(&message);
        }
        assert_eq!(after.models["m"], before.models["m"]);
        assert!(after.models["new"].closed);
    }

    #[test]
    fn updates_of_one_model_join_and_others_do_not() {
        let update =
            |model: &str, n: u32| message(json!({"method": "update", "model": model, "state": {"n": n}}));
        let mut first = update("m", 1);
        assert_eq!(first.join(update("m", 2)), None);
        assert_eq!(first, update("m", 2));
        assert_eq!(first.join(update("x", 3)), Some(update("x", 3)));
        let echo = message(json!({"method": "update", "model": "m", "state": {}, "echo": "e"}));
        assert_eq!(first.join(echo.clone()), Some(echo));
    }

    #[test]
    fn no_message_gets_past_the_limits() {
        let mut widgets = Widgets::default();
        let text = "x".repeat(MAX_WIDGET_BYTES / 3);
        let open = |id: &str| message(json!({"method": "open", "model": id, "state": {"text": text}}));
        assert!(widgets.apply(&open("a")) && widgets.apply(&open("b")));
        assert!(!widgets.apply(&open("c")), "there is no room for a third");
        let again = message(json!({"method": "update", "model": "b", "state": {"text": text}}));
        assert!(widgets.apply(&again), "the same text takes no more room");
        assert!(
            widgets.apply(&message(json!({"method": "close", "model": "a"}))) && widgets.apply(&open("c"))
        );
    }
}
