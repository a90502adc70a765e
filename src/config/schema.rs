//! The JSON Schema of the configuration file, made from the table of settings.

use serde_json::{Map, Value, json};

use super::keys::{POLICY, Shown, TOP};
use super::raw::in_default;
use super::values::{Kind, size_text};
use super::{Config, Policy};

/// The schema, draft 2020-12.
pub fn schema() -> Value {
    let mut root = group();
    let (config, policy) = (Config::default(), Policy::default());
    for key in TOP {
        put(&mut root, key.path, setting(key.kind, key.doc, &(key.show)(&config)));
    }
    for key in POLICY {
        put(&mut root, &in_default(key.path), setting(key.kind, key.doc, &(key.show)(&policy)));
    }
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!("Portcullis configuration"));
    }
    root
}

fn group() -> Value {
    json!({"type": ["object", "null"], "additionalProperties": false, "properties": {}})
}

fn put(root: &mut Value, path: &str, schema: Value) {
    let mut node = root;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let properties = node.as_object_mut().and_then(|node| node.get_mut("properties"));
        let Some(properties) = properties.and_then(Value::as_object_mut) else { return };
        if names.peek().is_none() {
            properties.insert(name.to_owned(), schema);
            return;
        }
        node = properties.entry(name).or_insert_with(group);
    }
}

fn setting(kind: Kind, doc: &str, default: &Shown) -> Value {
    let mut schema = values(kind);
    schema.insert("description".to_owned(), json!(doc));
    if let Some(default) = default_value(default) {
        schema.insert("default".to_owned(), default);
    }
    Value::Object(schema)
}

fn default_value(shown: &Shown) -> Option<Value> {
    match shown {
        Shown::Unset(_) => None,
        Shown::Plain(text) => serde_json::from_str(text).ok(),
        Shown::Text(text) => Some(json!(text)),
        Shown::List(items) => Some(json!(items)),
        Shown::Map(entries) => Some(entries.iter().map(|(name, value)| (name.clone(), json!(value))).collect()),
    }
}

fn values(kind: Kind) -> Map<String, Value> {
    let schema = match kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Word(words) => json!({"enum": words}),
        Kind::Number(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Kind::Status => json!({"anyOf": [{"const": "as_is"}, {"type": "integer", "minimum": 400, "maximum": 599}]}),
        Kind::Size(low, high) => json!({
            "anyOf": [
                {"type": "integer", "minimum": low, "maximum": high},
                {"type": "string", "pattern": "^[0-9]+(B|kB|KB|MB|GB|KiB|MiB|GiB)?$"},
            ],
            "$comment": format!("{} to {}", size_text(low), size_text(high)),
        }),
        Kind::Duration => json!({"type": "string", "pattern": "^[0-9]+(us|ms|s|m|h)$"}),
        Kind::Address => {
            json!({"type": "string", "pattern": "^(off|unix:/.+|[0-9.]+:[0-9]+|\\[[0-9A-Fa-f:.]+\\]:[0-9]+)$"})
        }
        Kind::RuleSet | Kind::AuditTarget => json!({"type": "string", "minLength": 1}),
        Kind::Networks | Kind::Profiles | Kind::Files | Kind::Methods | Kind::Headers => {
            let item = json!({"type": "string", "minLength": 1});
            json!({"anyOf": [{"type": "array", "items": item.clone()}, item, {"type": "null"}]})
        }
        Kind::Variables => {
            json!({"type": ["object", "null"], "additionalProperties": {"type": ["string", "integer", "boolean"]}})
        }
    };
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
