//! Reads `known.toml`: tables `[[known]]` with `version`, `test`, `reason` and a proof, nothing else.

use std::collections::BTreeMap;

/// Tests that are accepted to fail.
pub(crate) struct Known {
    entries: Vec<Entry>,
}

/// One test that is accepted to fail.
pub(crate) struct Entry {
    version: String,
    test: String,
    /// Why it fails.
    pub(crate) reason: String,
    /// What shows that the test is wrong, not we.
    pub(crate) proof: Proof,
}

/// What shows that a test is wrong.
pub(crate) enum Proof {
    /// The rule that should match cannot match what the test sends.
    CannotMatch {
        /// The value in the test's request that was meant to match.
        sends: String,
        /// A value that the rule does match: shows that the check reads the rule.
        would_match: String,
    },
    /// Another test sends the same request and expects the opposite of the same rule.
    Contradicts {
        /// The CRS version of that test.
        version: String,
        /// Its name.
        test: String,
    },
}

/// The keys an entry may have.
const KEYS: [&str; 6] = ["version", "test", "reason", "sends", "would_match", "contradicts"];

impl Known {
    /// Reads the file. Anything but the few lines it is made of is an error, with its line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut tables: Vec<BTreeMap<&str, &str>> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let at = |message: &str| format!("{}: {message}", index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == "[[known]]" {
                tables.push(BTreeMap::new());
                continue;
            }
            let table = tables.last_mut().ok_or_else(|| at("a `[[known]]` must come first"))?;
            let (key, value) = line.split_once('=').ok_or_else(|| at("not a `key = \"value\"`"))?;
            let value = value.trim().strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let value = value.filter(|value| !value.is_empty() && !value.contains(['"', '\\']));
            let value = value.ok_or_else(|| at("the value must be in plain double quotes"))?;
            let key = key.trim();
            if !KEYS.contains(&key) {
                return Err(at(&format!("unknown key; there are {}", KEYS.join(", "))));
            }
            if table.insert(key, value).is_some() {
                return Err(at("given twice"));
            }
        }
        let entries = tables.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { entries })
    }

    /// The entries for one version by test name.
    pub(crate) fn of(&self, version: &str) -> BTreeMap<&str, &Entry> {
        let entries = self.entries.iter().filter(|entry| entry.version == version);
        entries.map(|entry| (entry.test.as_str(), entry)).collect()
    }
}

fn entry(table: &BTreeMap<&str, &str>) -> Result<Entry, String> {
    let name = table.get("test").copied().unwrap_or("?");
    let get = |key: &str| table.get(key).map(|value| (*value).to_owned());
    let need = |key: &str| get(key).ok_or_else(|| format!(" the entry for `{name}` needs `{key}`"));
    let proof = match (get("sends"), get("would_match"), get("contradicts")) {
        (Some(sends), Some(would_match), None) => Proof::CannotMatch { sends, would_match },
        (None, None, Some(other)) => {
            let (version, test) = other
                .split_once(' ')
                .ok_or_else(|| format!(" the entry for `{name}`: `contradicts` is a version and a test"))?;
            Proof::Contradicts { version: version.to_owned(), test: test.to_owned() }
        }
        _ => return Err(format!(" the entry for `{name}` needs `sends` and `would_match`, or `contradicts`")),
    };
    Ok(Entry { version: need("version")?, test: need("test")?, reason: need("reason")?, proof })
}
