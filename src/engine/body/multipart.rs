//! `multipart/form-data` bodies as arguments and files, as strict as ModSecurity and with its flags.
//!
//! Every doubt about where a part begins or what it is called is a flag or an error, since the application behind us
//! may see it otherwise. Coraza reads with Go's lenient MIME parser instead. Does not know what files hold.
//!
//! - A line that begins with `--` and the boundary ends a part; nothing but the line end, or `--` and the line end, may
//!   follow. The line end before it belongs to the boundary.
//! - A part with a file name is a file, any other an argument; `filename=""` is an argument.
//! - `filename*` is flagged, as in ModSecurity v2; v3 ignores it, and an application that prefers it sees another name.

mod content_type;
mod disposition;
mod part;

use memchr::memmem::Finder;

use super::{BodyLimits, Input, MultipartFlags, Parsed};
use part::Part;

/// An error that ends the reading, without its prefix.
type Step<T = ()> = Result<T, String>;

/// Reads a body into `parsed`.
pub(super) fn parse_body(input: &Input<'_>, limits: &BodyLimits, parsed: &mut Parsed) {
    let result = content_type::boundary(input.content_type, &mut parsed.multipart)
        .and_then(|boundary| Reader::new(input, boundary, limits, parsed).body());
    if let Err(message) = &result {
        parsed.error = Some(format!("Multipart parsing error: Multipart: {message}"));
    }
    parsed.multipart.strict_error |= result.is_err() || any_strict(&parsed.multipart);
}

/// The flags that ModSecurity counts as strict errors: all but CRLF_LF_LINES and UNMATCHED_BOUNDARY.
const fn any_strict(flags: &MultipartFlags) -> bool {
    flags.boundary_quoted
        || flags.boundary_whitespace
        || flags.data_before
        || flags.data_after
        || flags.header_folding
        || flags.invalid_header_folding
        || flags.lf_line
        || flags.missing_semicolon
        || flags.invalid_quoting
        || flags.invalid_part
        || flags.file_limit_exceeded
}

struct Reader<'a> {
    body: &'a [u8],
    partial: bool,
    /// `--` and the boundary.
    delimiter: Vec<u8>,
    /// Finds the delimiter inside lines.
    finder: Finder<'static>,
    /// The part being read.
    part: Option<Part>,
    boundaries_seen: usize,
    complete: bool,
    crlf_seen: bool,
    /// The line before this one ended in a bare LF.
    after_bare_lf: bool,
    arguments_left: usize,
    files_left: usize,
    parsed: &'a mut Parsed,
}

impl<'a> Reader<'a> {
    fn new(input: &Input<'a>, boundary: Vec<u8>, limits: &BodyLimits, parsed: &'a mut Parsed) -> Self {
        let delimiter = [b"--", &boundary[..]].concat();
        Self {
            body: input.body,
            partial: input.partial,
            finder: Finder::new(&delimiter).into_owned(),
            delimiter,
            part: None,
            boundaries_seen: 0,
            complete: false,
            crlf_seen: false,
            after_bare_lf: false,
            arguments_left: limits.arguments.saturating_sub(input.already),
            files_left: limits.arguments,
            parsed,
        }
    }

    fn body(mut self) -> Step {
        let mut start = 0;
        let result = loop {
            if self.complete || start == self.body.len() {
                break self.end(start);
            }
            let rest = self.body.get(start..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else { break self.end(start) };
            let line = rest.get(..=length).unwrap_or_default();
            if let Err(message) = self.line(line, start) {
                break Err(message);
            }
            self.after_bare_lf = !line.ends_with(b"\r\n");
            start += line.len();
        };
        self.parsed.multipart.crlf_lf_lines = self.crlf_seen && self.parsed.multipart.lf_line;
        result
    }

    /// One line with its line end, which begins at `start` of the body.
    fn line(&mut self, line: &[u8], start: usize) -> Step {
        if line.len() > 3 && line.starts_with(b"--") {
            if let Some(tail) = line.strip_prefix(&self.delimiter[..]) {
                return self.boundary_line(tail, start);
            }
            self.almost_boundary_line(line)?;
        } else if self.finder.find(line).is_some() {
            self.parsed.multipart.unmatched_boundary = 1;
        }
        match &mut self.part {
            None => self.parsed.multipart.data_before = true,
            Some(part) if part.in_headers() => {
                note_line_end(line, &mut self.parsed.multipart.lf_line, &mut self.crlf_seen);
                part.header_line(line, start + line.len(), self.parsed)?;
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// A line that begins with the delimiter; `tail` is what follows it.
    fn boundary_line(&mut self, tail: &[u8], start: usize) -> Step {
        // ModSecurity v3: lines that look like boundaries are forgiven once the real ones enclose them.
        if self.boundaries_seen > 0 && self.parsed.multipart.unmatched_boundary == 1 {
            self.parsed.multipart.unmatched_boundary = 2;
        }
        let (is_final, line_end) = match tail.strip_prefix(b"--") {
            Some(rest) => (true, rest),
            None => (false, tail),
        };
        if line_end != b"\r\n" && line_end != b"\n" {
            return Err("Invalid boundary.".to_owned());
        }
        note_line_end(line_end, &mut self.parsed.multipart.lf_line, &mut self.crlf_seen);
        self.boundary(is_final, start);
        Ok(())
    }

    /// A line that begins with `--` and is no boundary.
    fn almost_boundary_line(&mut self, line: &[u8]) -> Step {
        let boundary = self.delimiter.get(2..).unwrap_or_default();
        let after = line.get(2..).unwrap_or_default();
        let quoted = after.strip_prefix(b"\"").is_some_and(|rest| rest.starts_with(boundary));
        if quoted && self.parsed.multipart.boundary_quoted {
            return Err("Invalid boundary (quotes).".to_owned());
        }
        let trimmed = trim_blanks(after);
        if trimmed.len() < after.len() && trimmed.starts_with(boundary) {
            return Err("Invalid boundary (whitespace).".to_owned());
        }
        self.parsed.multipart.unmatched_boundary = 1;
        Ok(())
    }

    fn boundary(&mut self, is_final: bool, start: usize) {
        self.parsed.multipart.lf_line |= self.after_bare_lf;
        self.finish_part(start);
        self.boundaries_seen += 1;
        self.complete = is_final;
        if !is_final {
            self.part = Some(Part::default());
        }
    }

    /// Ends the part before the boundary line at `end`, or at the end of a cut body.
    fn finish_part(&mut self, end: usize) {
        let Some(part) = self.part.take() else { return };
        let Some(start) = part.data_start().filter(|start| *start < end) else {
            // The boundary came before the blank line, or in its place: the data lacks even the line end that belongs
            // to the boundary.
            self.parsed.multipart.invalid_part = true;
            if part.data_start().is_some() {
                self.record(&part, b"");
            }
            return;
        };
        let data = self.body.get(start..end).unwrap_or_default();
        let data = data.strip_suffix(b"\n").map_or(data, |data| data.strip_suffix(b"\r").unwrap_or(data));
        self.record(&part, data);
    }

    fn record(&mut self, part: &Part, data: &[u8]) {
        match part.file_name() {
            Some(file_name) => match self.files_left.checked_sub(1) {
                Some(left) => {
                    self.files_left = left;
                    self.parsed.files.push(part.name(), file_name);
                    self.parsed.file_sizes.push(data.len());
                }
                None => self.parsed.multipart.file_limit_exceeded = true,
            },
            None => match self.arguments_left.checked_sub(1) {
                Some(left) => {
                    self.arguments_left = left;
                    self.parsed.arguments.push(part.name(), data);
                }
                None => self.parsed.arguments_over_limit = true,
            },
        }
    }

    /// What lies from `start` on is no line: nothing, the final boundary without a line end, or the stump of a body.
    fn end(&mut self, start: usize) -> Step {
        let rest = self.body.get(start..).unwrap_or_default();
        if self.complete {
            self.parsed.multipart.data_after = !rest.is_empty();
            return Ok(());
        }
        let is_final = rest.strip_prefix(&self.delimiter[..]) == Some(b"--");
        if is_final && self.boundaries_seen > 0 {
            if self.parsed.multipart.unmatched_boundary == 1 {
                self.parsed.multipart.unmatched_boundary = 2;
            }
            self.boundary(true, start);
            return Ok(());
        }
        if self.partial {
            self.end_of_cut_body(start, rest);
            return Ok(());
        }
        let message =
            if self.boundaries_seen > 0 { "Final boundary missing." } else { "No boundaries found in payload." };
        Err(message.to_owned())
    }

    /// Keeps the data of the part that the cut went through, without a piece of the boundary at its end.
    fn end_of_cut_body(&mut self, start: usize, rest: &[u8]) {
        let in_boundary = self.delimiter.starts_with(rest) || rest.starts_with(&self.delimiter);
        let end = if in_boundary { start } else { self.body.len() };
        if self.part.as_ref().is_none_or(|part| part.data_start().is_none_or(|data| data >= end)) {
            return;
        }
        self.finish_part(end);
    }
}

fn note_line_end(line: &[u8], lf_seen: &mut bool, crlf_seen: &mut bool) {
    if line.ends_with(b"\r\n") {
        *crlf_seen = true;
    } else {
        *lf_seen = true;
    }
}

/// Without the blanks in front, of which C's `isspace` knows six.
fn trim_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    text.get(blanks..).unwrap_or_default()
}

/// C's `isspace`: blank, `\t`, `\n`, `\v`, `\f`, `\r`.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

#[cfg(test)]
mod tests;
