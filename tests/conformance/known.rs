//! Reads `known.toml`: tables `[[known]]` with `version`, `test` and `reason`, nothing else.

use std::collections::BTreeMap;

/// Tests that are accepted to fail.
pub(crate) struct Known {
    entries: Vec<Entry>,
}

#[derive(Default)]
struct Entry {
    version: String,
    test: String,
    reason: String,
}

impl Known {
    /// Reads the file. Anything but the few lines it is made of is an error, with its line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut entries: Vec<Entry> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let at = |message: &str| format!("{}: {message}", index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == "[[known]]" {
                entries.push(Entry::default());
                continue;
            }
            let entry = entries.last_mut().ok_or_else(|| at("a `[[known]]` must come first"))?;
            let (key, value) = line.split_once('=').ok_or_else(|| at("not a `key = \"value\"`"))?;
            let value = value.trim().strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let value = value.filter(|value| !value.is_empty() && !value.contains(['"', '\\']));
            let value = value.ok_or_else(|| at("the value must be in plain double quotes"))?;
            let field = match key.trim() {
                "version" => &mut entry.version,
                "test" => &mut entry.test,
                "reason" => &mut entry.reason,
                _ => return Err(at("unknown key; there are `version`, `test` and `reason`")),
            };
            if !std::mem::replace(field, value.to_owned()).is_empty() {
                return Err(at("given twice"));
            }
        }
        match entries
            .iter()
            .find(|entry| [&entry.version, &entry.test, &entry.reason].iter().any(|text| text.is_empty()))
        {
            Some(entry) => Err(format!(" the entry for `{}` needs `version`, `test` and `reason`", entry.test)),
            None => Ok(Self { entries }),
        }
    }

    /// Test names and reasons for one version.
    pub(crate) fn of(&self, version: &str) -> BTreeMap<&str, &str> {
        let entries = self.entries.iter().filter(|entry| entry.version == version);
        entries.map(|entry| (entry.test.as_str(), entry.reason.as_str())).collect()
    }
}
