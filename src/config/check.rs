//! From settings to a [`Config`]: each value read, then what must hold between values.

use std::path::Path;

use super::env::Env;
use super::errors::{ConfigErrors, Place, Problem};
use super::headers::never_cacheable;
use super::keys::{Wrong, put_variable};
use super::raw::{self, Setting, Target, in_default};
use super::{Config, DEFAULT_POLICY, Policy};

impl Config {
    /// Reads the configuration: the file, if there is one, then the environment, then `--set key=value` arguments, each
    /// over what came before.
    ///
    /// # Errors
    /// Everything that is wrong, wherever it was written.
    pub fn load(file: Option<&Path>, env: &dyn Env, sets: &[String]) -> Result<Self, ConfigErrors> {
        let Some(path) = file else { return Self::from_sources(None, env, sets) };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_sources(Some((path, &text)), env, sets),
            Err(error) => Err(ConfigErrors {
                problems: vec![Problem {
                    place: Place::File { file: path.display().to_string().into(), line: 0 },
                    key: String::new(),
                    what: format!("this file cannot be read: {error}"),
                    fix: String::new(),
                }],
            }),
        }
    }

    /// [`Config::load`] with the file's name and text at hand.
    ///
    /// # Errors
    /// Everything that is wrong, wherever it was written.
    pub fn from_sources(file: Option<(&Path, &str)>, env: &dyn Env, sets: &[String]) -> Result<Self, ConfigErrors> {
        let mut problems = Vec::new();
        let mut settings = Vec::new();
        if let Some((path, text)) = file {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            settings.extend(raw::from_file(path, text, folder, &mut problems));
        }
        settings.extend(raw::from_environment(env, &mut problems));
        settings.extend(raw::from_sets(sets, &mut problems));
        let mut config = Self::default();
        for setting in &settings {
            problems.extend(config.put(setting).into_iter().map(|wrong| misfit(setting, wrong)));
        }
        let across = across(&config).into_iter().map(|(key, what, fix)| Problem {
            place: place_of(&settings, &key),
            key,
            what,
            fix,
        });
        problems.extend(across);
        if problems.is_empty() { Ok(config) } else { Err(ConfigErrors { problems }) }
    }

    fn put(&mut self, setting: &Setting<'_>) -> Vec<Wrong> {
        let done = match &setting.target {
            Target::Top(key) => (key.put)(self, &setting.given),
            Target::Policy(key) => (key.put)(self.default_policy(), &setting.given),
            Target::Variable(name) => put_variable(self.default_policy(), name.clone(), &setting.given),
        };
        done.err().unwrap_or_default()
    }

    fn default_policy(&mut self) -> &mut Policy {
        self.policies.entry(DEFAULT_POLICY.to_owned()).or_default()
    }
}

fn misfit(setting: &Setting<'_>, wrong: Wrong) -> Problem {
    let place = match &setting.place {
        Place::File { file, .. } if wrong.line > 0 => Place::File { file: file.clone(), line: wrong.line },
        place => place.clone(),
    };
    let kind = setting.target.kind();
    Problem {
        place,
        key: setting.target.key(),
        what: format!("`{}` is not {}", wrong.text.escape_debug(), kind.noun()),
        fix: kind.fix_for(&wrong.text),
    }
}

/// Where a key was set last; for a default that clashes, the command line as a whole.
fn place_of(settings: &[Setting<'_>], key: &str) -> Place {
    let last = settings.iter().rfind(|setting| setting.target.key() == key);
    last.map_or_else(|| Place::File { file: "configuration".into(), line: 0 }, |setting| setting.place.clone())
}

/// What must hold between values: key, what is wrong, fix.
fn across(config: &Config) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    same_address(config, &mut found);
    for policy in config.policies.values() {
        levels(policy, &mut found);
        cache_headers(policy, &mut found);
    }
    found
}

fn same_address(config: &Config, found: &mut Vec<(String, String, String)>) {
    let listen = &config.listen;
    let doors = [
        ("listen.ext_authz", &listen.ext_authz),
        ("listen.forward_auth", &listen.forward_auth),
        ("listen.admin", &listen.admin),
    ];
    for (index, (key, address)) in doors.iter().enumerate() {
        let earlier = doors.iter().take(index).find(|(_, earlier)| earlier == address && !any_port(earlier.as_ref()));
        if let (Some(_), Some((other, _))) = (address, earlier) {
            let what = format!("this is the address of `{other}` too");
            found.push(((*key).to_owned(), what, "give each door an address of its own".to_owned()));
        }
    }
}

fn any_port(address: Option<&super::Address>) -> bool {
    matches!(address, Some(super::Address::Tcp(address)) if address.port() == 0)
}

/// CRS answers every request with 500 when the detection level is below the blocking level (rule 901500).
fn levels(policy: &Policy, found: &mut Vec<(String, String, String)>) {
    let (Some(blocking), Some(detection)) = (policy.crs.paranoia, policy.crs.detection_paranoia) else { return };
    if detection < blocking {
        let what = format!("{detection} is below `crs.paranoia`, which is {blocking}: CRS would refuse every request");
        found.push((in_default("crs.detection_paranoia"), what, format!("write {blocking} or more")));
    }
}

/// The values of never-cacheable headers stay out of the cache, hashes included.
fn cache_headers(policy: &Policy, found: &mut Vec<(String, String, String)>) {
    let cache = &policy.cache;
    for (key, names) in [("cache.key_headers", &cache.key_headers), ("cache.volatile_headers", &cache.volatile_headers)]
    {
        for name in names.iter().filter(|name| never_cacheable(name.as_bytes()) || cache.never_headers.contains(name)) {
            let what = format!("`{name}` is a header whose values never enter the cache");
            found.push((in_default(key), what, "remove it".to_owned()));
        }
    }
}
