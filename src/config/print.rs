//! The configuration at work, as YAML that reads back as the same configuration.

use super::keys::{POLICY, Shown, TOP};
use super::raw::in_default;
use super::{Config, DEFAULT_POLICY};

impl Config {
    /// The effective configuration as YAML.
    pub fn to_yaml(&self) -> String {
        let mut printer = Printer::default();
        for key in TOP {
            printer.entry(key.path, &(key.show)(self));
        }
        if let Some(policy) = self.policies.get(DEFAULT_POLICY) {
            for key in POLICY {
                printer.entry(&in_default(key.path), &(key.show)(policy));
            }
        }
        printer.text
    }
}

/// Prints dotted paths as nested maps; paths with a common beginning must follow each other.
#[derive(Default)]
struct Printer {
    text: String,
    open: Vec<String>,
}

impl Printer {
    fn entry(&mut self, path: &str, value: &Shown) {
        let mut names: Vec<&str> = path.split('.').collect();
        let Some(name) = names.pop() else { return };
        let same = names.iter().zip(&self.open).take_while(|(name, open)| *name == open).count();
        self.open.truncate(same);
        for group in names.iter().skip(same) {
            self.line(&format!("{group}:"));
            self.open.push((*group).to_owned());
        }
        match value {
            Shown::Unset(meaning) => self.line(&format!("# {name}: {meaning}")),
            Shown::Plain(text) => self.line(&format!("{name}: {text}")),
            Shown::Text(text) => self.line(&format!("{name}: {}", scalar(text))),
            Shown::List(items) => self.list(name, items),
            Shown::Map(entries) if entries.is_empty() => self.line(&format!("{name}: {{}}")),
            Shown::Map(entries) => {
                self.line(&format!("{name}:"));
                for (key, value) in entries {
                    self.line(&format!("  {}: {}", scalar(key), scalar(value)));
                }
            }
        }
    }

    /// Short lists on one line, longer ones an item a line.
    fn list(&mut self, name: &str, items: &[String]) {
        let items: Vec<String> = items.iter().map(|item| scalar(item)).collect();
        if items.len() <= 3 {
            return self.line(&format!("{name}: [{}]", items.join(", ")));
        }
        self.line(&format!("{name}:"));
        for item in items {
            self.line(&format!("  - {item}"));
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.open.len()));
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// A text as a YAML scalar: plain where that is safe, else in double quotes.
fn scalar(text: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./@".contains(&byte);
    let plain =
        text.bytes().all(safe) && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    let word = matches!(text.to_ascii_lowercase().as_str(), "null" | "true" | "false" | "yes" | "no" | "on");
    if plain && !word { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
