//! Which modules of the crate a piece of code mentions, with `use` or in a path.

/// The line and the first name of every path that starts at `crate::`, groups included.
pub(super) fn of_crate(code: &str) -> Vec<(usize, String)> {
    let starts = code.match_indices("crate::").filter(|(at, _)| {
        let before = code.get(..*at).and_then(|before| before.chars().next_back());
        before.is_none_or(|char| !char.is_alphanumeric() && !"_$".contains(char))
    });
    let found = starts.flat_map(|(at, word)| {
        let line = code.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let names = first_names(code.get(at + word.len()..).unwrap_or_default());
        names.into_iter().map(move |name| (line, name))
    });
    found.filter(|(_, name)| name.starts_with(|first: char| first.is_ascii_lowercase())).collect()
}

/// `a` of `a::b`; `a`, `c` of `{a::b, c::{d, e}}`.
fn first_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, char) in group.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                names.push(name(group.get(start..at).unwrap_or_default().trim_start()));
                start = at + 1;
                if char == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

fn name(path: &str) -> String {
    path.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect()
}

#[test]
fn every_form_of_import_is_seen() {
    let cases = [
        ("use crate::model::Request;", "model"),
        ("pub use crate::model;", "model"),
        ("use crate::{engine::{self, Scratch}, model, Local};", "engine model"),
        ("use crate::{\n    engine,\n    vocab::x as y,\n};", "engine vocab"),
        ("let x = crate::engine::evaluate(rules);", "engine"),
        ("fn a(x: &crate::model::Request, y: crate::vocab::Z)", "model vocab"),
        ("use crate::Local;", ""),
        ("use $crate::engine; use mycrate::engine;", ""),
    ];
    for (code, expected) in cases {
        let names: Vec<String> = of_crate(code).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names.join(" "), expected, "{code}");
    }
    assert_eq!(of_crate("\n\nuse crate::engine;")[0].0, 3);
}
