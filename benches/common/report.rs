//! Where figures go: to the terminal, and to `target/bench/NAME.md`, from where `make bench-tables` takes them into
//! `benches/README.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Prints text and keeps it for the file.
#[derive(Debug)]
pub(crate) struct Report {
    name: &'static str,
    text: String,
}

impl Report {
    /// A report that begins with its circumstances.
    pub(crate) fn new(name: &'static str) -> Self {
        let mut report = Self { name, text: String::new() };
        report.line(&circumstances());
        report
    }

    /// A paragraph.
    pub(crate) fn line(&mut self, text: &str) {
        println!("{text}");
        let _never_fails = writeln!(self.text, "{text}\n");
    }

    /// A table: the head first; the first column is of words, all others of figures.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) {
        let table = markdown(rows);
        println!("\n{table}");
        let _never_fails = writeln!(self.text, "{table}");
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save(self, target: &Path) -> Result<(), String> {
        let folder = target.join("bench");
        let file = folder.join(format!("{}.md", self.name));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&file, self.text.trim_end().to_owned() + "\n"))
            .map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// A table that can be read in a terminal as well.
fn markdown(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0).max(3)).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _never_fails =
                if at == 0 { write!(text, "| {cell:<width$} ") } else { write!(text, "| {cell:>width$} ") };
        }
        text.push_str("|\n");
        if number == 0 {
            let rule = |(at, width): (usize, &usize)| {
                format!("|{}{}", "-".repeat(width + 1), [":", "-"][usize::from(at == 0)])
            };
            text.push_str(&widths.iter().enumerate().map(rule).collect::<String>());
            text.push_str("|\n");
        }
    }
    text
}

/// When, which tree, on what, and how busy it was.
fn circumstances() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        output
            .ok()
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let date = said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]).unwrap_or_default();
    let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let changes = said("git", &["status", "--porcelain", "--untracked-files=no"]).is_some_and(|list| !list.is_empty());
    let cpu = file("/proc/cpuinfo");
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = file("/proc/loadavg");
    format!(
        "{date}, commit {commit}{}; {cores} cores ({cpu}); load average {}.",
        if changes { " with changes" } else { "" },
        load.split(' ').next().unwrap_or("unknown"),
    )
}

/// A figure with a mark between thousands.
pub(crate) fn thousands(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let marked = digits.char_indices().flat_map(|(at, digit)| {
        let mark = at > 0 && (digits.len() - at) % 3 == 0;
        mark.then_some(',').into_iter().chain([digit])
    });
    marked.collect()
}

/// Microseconds with as many digits as mean something.
pub(crate) fn micros(figure: f64) -> String {
    if figure < 100.0 { format!("{figure:.1}") } else { thousands(figure) }
}
