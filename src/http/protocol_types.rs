//! Generates `web/shell/protocol-types.d.ts`, the TypeScript types of the page's messages, from the
//! JSON schemas of the server's types. Only tests compile this.

#![allow(clippy::unwrap_used)]

use crate::notebook::{Command, Event, Reply, Snapshot};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const HEAD: &str = "\
// The messages between the page and the server. Generated from the types in src/notebook/, whose
// comments say what each field means.
// To regenerate: cargo test --lib protocol_types::write -- --ignored

";

/// Maximum line length, in columns. A longer type is broken into one line per field or variant.
const WIDTH: usize = 100;

const INDENT: &str = "    ";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("web/shell/protocol-types.d.ts")
}

#[test]
fn the_page_has_the_types_of_the_server() {
    let found = std::fs::read_to_string(path()).unwrap_or_default();
    assert!(
        found == all_types(),
        "web/shell/protocol-types.d.ts is out of date: \
         run `cargo test --lib protocol_types::write -- --ignored` to regenerate it"
    );
}

#[test]
#[ignore = "writes a file of the page"]
fn write() {
    std::fs::write(path(), all_types()).unwrap();
}

#[test]
fn schemas_become_types() {
    for (schema, expected) in [
        (r#"true"#, "unknown"),
        (r#"{"type": ["integer", "null"]}"#, "number | null"),
        (r#"{"const": "ok"}"#, "'ok'"),
        (
            r##"{"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}"##,
            "(A | null)[]",
        ),
        (r#"{"type": "object", "additionalProperties": true}"#, "Record<string, unknown>"),
        (r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#, "{ a?: string }"),
        (
            r##"{"type": "object", "$ref": "#/$defs/A", "properties": {"b": {"const": 1}}, "required": ["b"]}"##,
            "A & { b: 1 }",
        ),
    ] {
        assert_eq!(type_of(&serde_json::from_str(schema).unwrap(), 0), expected);
    }
}

/// Returns the text of the generated file. The server may read a type in another shape than it
/// sends, for example with optional fields. Such a type has a second definition named `…Input`.
fn all_types() -> String {
    let mut sent = SchemaSettings::draft2020_12().for_serialize().into_generator();
    add::<Event>(&mut sent);
    add::<Reply>(&mut sent);
    add::<Snapshot>(&mut sent);
    let sent = sent.take_definitions(true);
    let mut read = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    add::<Command>(&mut read);
    let read = renamed(read.take_definitions(true), &sent);

    let all: BTreeMap<String, Value> = sent.into_iter().chain(read).collect();
    let mut text = HEAD.to_owned();
    for (name, schema) in &all {
        let body = type_of(schema, 0);
        let gap = if body.starts_with('\n') { "" } else { " " };
        writeln!(text, "export type {name} ={gap}{body};").unwrap();
    }
    text
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Renames each definition in `read` that differs from the definition of the same name in `sent`.
/// Also renames all references to it.
fn renamed(read: Map<String, Value>, sent: &Map<String, Value>) -> Map<String, Value> {
    let differs = |name: &str| sent.get(name).is_some_and(|other| *other != read[name]);
    let names: Vec<&String> = read.keys().filter(|name| differs(name)).collect();
    let mut text = serde_json::to_string(&read).unwrap();
    for name in names {
        text = text.replace(&format!("\"#/$defs/{name}\""), &format!("\"#/$defs/{name}Input\""));
        text = text.replace(&format!("\"{name}\":{{"), &format!("\"{name}Input\":{{"));
    }
    serde_json::from_str(&text).unwrap()
}

/// Converts a JSON schema to a TypeScript type. Lines after the first are indented by `depth`.
fn type_of(schema: &Value, depth: usize) -> String {
    let Some(fields) = schema.as_object() else { return "unknown".into() };
    if let Some(choices) = fields.get("oneOf").or_else(|| fields.get("anyOf")) {
        return union(choices.as_array().unwrap(), depth);
    }
    if let Some(value) = fields.get("const") {
        return literal(value);
    }
    if let Some(values) = fields.get("enum") {
        return values.as_array().unwrap().iter().map(literal).collect::<Vec<_>>().join(" | ");
    }
    let reference = fields.get("$ref").map(|name| name.as_str().unwrap().replace("#/$defs/", ""));
    match (reference, fields.get("type")) {
        (Some(name), _) if fields.contains_key("properties") => format!("{name} & {}", object(fields, depth)),
        (Some(name), _) => name,
        (None, Some(Value::Array(kinds))) => kinds
            .iter()
            .map(|kind| plain(kind.as_str().unwrap(), fields, depth))
            .collect::<Vec<_>>()
            .join(" | "),
        (None, Some(kind)) => plain(kind.as_str().unwrap(), fields, depth),
        (None, None) => "unknown".into(),
    }
}

fn plain(kind: &str, fields: &Map<String, Value>, depth: usize) -> String {
    match kind {
        "integer" => "number".into(),
        "array" => {
            let item = type_of(&fields["items"], depth);
            if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
        }
        "object" => object(fields, depth),
        other => other.to_owned(),
    }
}

fn object(fields: &Map<String, Value>, depth: usize) -> String {
    let Some(properties) = fields.get("properties").and_then(Value::as_object) else {
        let values = fields.get("additionalProperties").map_or("unknown".into(), |of| type_of(of, depth));
        return format!("Record<string, {values}>");
    };
    let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let optional = if required.iter().any(|one| one == name) { "" } else { "?" };
            format!("{name}{optional}: {}", type_of(schema, depth + 1))
        })
        .collect();
    let line = format!("{{ {} }}", fields.join("; "));
    let pad = INDENT.repeat(depth + 1);
    if fits(&line, depth) {
        line
    } else {
        format!("{{\n{pad}{};\n{}}}", fields.join(&format!(";\n{pad}")), INDENT.repeat(depth))
    }
}

fn union(choices: &[Value], depth: usize) -> String {
    let line = choices.iter().map(|choice| type_of(choice, depth)).collect::<Vec<_>>().join(" | ");
    if fits(&line, depth) {
        return line;
    }
    let pad = INDENT.repeat(depth + 1);
    choices.iter().map(|choice| format!("\n{pad}| {}", type_of(choice, depth + 1))).collect()
}

/// Whether a type fits on one line after `export type NAME`.
fn fits(line: &str, depth: usize) -> bool {
    !line.contains('\n')
        && INDENT.len() * (depth + 1) + line.len() + "export type RestoredFrom".len() <= WIDTH
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("'{text}'"))
}
