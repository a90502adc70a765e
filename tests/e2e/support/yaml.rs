//! YAML as JSON values, for looking things up.

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::Value;

/// The documents of a file.
pub(crate) fn documents(name: &str, text: &str) -> Vec<Value> {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    documents.iter().map(|document| value(name, document)).collect()
}

/// The one document of a file.
pub(crate) fn document(name: &str, text: &str) -> Value {
    let mut documents = documents(name, text);
    assert_eq!(documents.len(), 1, "{name}: one document expected");
    documents.remove(0)
}

fn value(name: &str, node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(truth) => (*truth).into(),
            Scalar::Integer(number) => (*number).into(),
            Scalar::FloatingPoint(number) => number.into_inner().into(),
            Scalar::String(text) => text.as_ref().into(),
        },
        Yaml::Sequence(items) => items.iter().map(|item| value(name, item)).collect(),
        Yaml::Mapping(entries) => entries.iter().map(|(key, item)| (key_text(name, key), value(name, item))).collect(),
        Yaml::Tagged(_, inner) => value(name, inner),
        other => panic!("{name}: {other:?}"),
    }
}

fn key_text(name: &str, key: &Yaml<'_>) -> String {
    key.as_str().unwrap_or_else(|| panic!("{name}: a key that is no text: {key:?}")).to_owned()
}
