//! What was measured, as a table, and the marks.

use super::peers::{LIBMODSECURITY, OURS, OURS_WITH_MEMO};

/// A class at a level, through every engine that took part.
#[derive(Debug)]
pub struct Row {
    /// The class and how many requests it has.
    pub title: String,
    /// The class alone.
    pub class: &'static str,
    /// The paranoia level.
    pub level: u8,
    /// An engine, its figure, and the figure in words.
    pub figures: Vec<(&'static str, f64, String)>,
}

impl Row {
    /// How many times the figure of ours the other one is.
    fn ratio(&self, theirs: &str, ours: &str) -> Option<f64> {
        let figure =
            |name: &str| self.figures.iter().find(|(engine, ..)| *engine == name).map(|(_, figure, _)| *figure);
        Some(figure(theirs)? / figure(ours)?)
    }
}

/// Every row: the figures, then the ratios of the others to ours without and with memo.
pub fn table(rows: &[Row], engines: &[&str]) -> Vec<Vec<String>> {
    let others: Vec<&str> = engines.iter().copied().filter(|name| ![OURS, OURS_WITH_MEMO].contains(name)).collect();
    let ratios: Vec<(&str, &str)> = others
        .iter()
        .flat_map(|other| [OURS, OURS_WITH_MEMO].map(|ours| (*other, ours)))
        .filter(|(_, ours)| engines.contains(ours))
        .collect();
    let head = ["requests", "PL"].into_iter().chain(engines.iter().copied()).map(str::to_owned);
    let head = head.chain(
        ratios.iter().map(|(other, ours)| format!("{other} ÷ {}", if *ours == OURS { "ours" } else { "ours, memo" })),
    );
    let body = rows.iter().map(|row| {
        let figure = |name: &&str| row.figures.iter().find(|(engine, ..)| engine == name);
        let figures = engines.iter().map(|name| figure(name).map(|(.., words)| words.clone()).unwrap_or_default());
        let ratios = ratios.iter().map(|(other, ours)| row.ratio(other, ours).map(|ratio| format!("{ratio:.1}")));
        let ratios = ratios.map(Option::unwrap_or_default);
        [row.title.clone(), row.level.to_string()].into_iter().chain(figures).chain(ratios).collect()
    });
    std::iter::once(head.collect()).chain(body).collect()
}

/// What the times must show against libmodsecurity: requests, levels, ours, and how many times less.
const MARKS: [(&str, &[u8], &str, f64); 4] = [
    ("benign GET", &[1, 4], OURS, 50.0),
    ("2 KB JSON body", &[1, 4], OURS, 100.0),
    ("CRS attacks", &[1, 4], OURS, 25.0),
    ("benign GET", &[1], OURS_WITH_MEMO, 150.0),
];

/// Whether the marks are met, a line each.
pub fn marks(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for (class, levels, ours, least) in MARKS {
        for row in rows.iter().filter(|row| row.class == class && levels.contains(&row.level)) {
            let Some(ratio) = row.ratio(LIBMODSECURITY, ours) else { continue };
            let word = if ratio >= least { "met" } else { "MISSED" };
            lines.push(format!(
                "{class}, level {}, {ours}: at least {least:.0} times less: {ratio:.1}: {word}",
                row.level
            ));
        }
    }
    lines
}
