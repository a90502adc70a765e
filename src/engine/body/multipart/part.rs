//! One part: its header lines, then where its data begins.

use super::super::{MultipartFlags, Parsed};
use super::disposition::Disposition;
use super::{Step, is_blank, trim_blanks};

/// ModSecurity's line buffer: longer header lines, and longer headers when folded, are errors.
const MAX_HEADER_BYTES: usize = 4096;
/// Each header line is recorded together with the part's name; this bounds what that can grow to.
const MAX_HEADERS: usize = 32;

/// A part being read.
#[derive(Default, Debug)]
pub(super) struct Part {
    headers: Vec<HeaderLine>,
    disposition: Disposition,
    data_start: Option<usize>,
}

/// A header line without its line end, folds joined by a blank.
#[derive(Debug)]
struct HeaderLine {
    text: Vec<u8>,
    /// The name is what comes before this colon.
    colon: usize,
}

impl HeaderLine {
    fn name(&self) -> &[u8] {
        self.text.get(..self.colon).unwrap_or_default()
    }

    fn value(&self) -> &[u8] {
        let value = self.text.get(self.colon + 1..).unwrap_or_default();
        let blanks = value.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        value.get(blanks..).unwrap_or_default()
    }
}

impl Part {
    /// Whether the blank line after the headers is still to come.
    pub(super) const fn in_headers(&self) -> bool {
        self.data_start.is_none()
    }

    /// Where the data begins, once the headers are read.
    pub(super) const fn data_start(&self) -> Option<usize> {
        self.data_start
    }

    /// The name of the field.
    pub(super) fn name(&self) -> &[u8] {
        self.disposition.name.as_deref().unwrap_or_default()
    }

    /// The name of the file; `None` when the part is no file.
    pub(super) fn file_name(&self) -> Option<&[u8]> {
        self.disposition.file_name.as_deref().filter(|name| !name.is_empty())
    }

    /// Reads a line of the headers, which ends at `end` of the body.
    pub(super) fn header_line(&mut self, line: &[u8], end: usize, parsed: &mut Parsed) -> Step {
        if line.contains(&0) {
            return Err("Nul byte in part headers.".to_owned());
        }
        if line.len() > MAX_HEADER_BYTES {
            return Err(format!("Part header line over {MAX_HEADER_BYTES} bytes long."));
        }
        match line {
            b"\r\n" | b"\n" => self.end_of_headers(end, parsed),
            [first, ..] if is_blank(*first) => self.folded_line(line, &mut parsed.multipart),
            _ => self.new_header(line, parsed),
        }
    }

    fn new_header(&mut self, line: &[u8], parsed: &mut Parsed) -> Step {
        let invalid = |what: &str| Err(format!("Invalid part header ({what})."));
        let text = without_line_end(line);
        let Some(colon) = memchr::memchr(b':', text) else { return invalid("colon missing") };
        let header = HeaderLine { text: text.to_vec(), colon };
        if header.name().is_empty() {
            return invalid("header name missing");
        }
        if !header.name().iter().all(|byte| (33..=126).contains(byte)) {
            // Rules see such a line all the same (CRS 922130); what the part is called is not known yet.
            parsed.part_headers.push(b"", &header.text);
            return invalid("contains invalid character");
        }
        if self.headers.iter().any(|other| other.name().eq_ignore_ascii_case(header.name())) {
            return Err("Duplicate part header.".to_owned());
        }
        if self.headers.len() >= MAX_HEADERS {
            return Err(format!("More than {MAX_HEADERS} part headers."));
        }
        self.headers.push(header);
        Ok(())
    }

    fn folded_line(&mut self, line: &[u8], flags: &mut MultipartFlags) -> Step {
        flags.header_folding = true;
        let text = trim_blanks(line);
        let blanks = line.get(..line.len() - text.len()).unwrap_or_default();
        // A line of blanks runs into its own line end, which counts as a bad fold in ModSecurity too.
        flags.invalid_header_folding |= blanks.iter().any(|byte| !matches!(byte, b' ' | b'\t'));
        let Some(header) = self.headers.last_mut() else {
            return Err("Invalid part header (folding error).".to_owned());
        };
        header.text.push(b' ');
        header.text.extend_from_slice(without_line_end(text));
        if header.text.len() > MAX_HEADER_BYTES {
            return Err("Part header too long.".to_owned());
        }
        Ok(())
    }

    fn end_of_headers(&mut self, end: usize, parsed: &mut Parsed) -> Step {
        let is_disposition = |header: &&HeaderLine| header.name().eq_ignore_ascii_case(b"content-disposition");
        let Some(header) = self.headers.iter().find(is_disposition) else {
            return Err("Part missing Content-Disposition header.".to_owned());
        };
        self.disposition = Disposition::parse(header.value(), &mut parsed.multipart)
            .map_err(|code| format!("Invalid Content-Disposition header ({code})."))?;
        if self.name().is_empty() {
            return Err("Content-Disposition header missing name field.".to_owned());
        }
        // Other parsers look for this very text: there must not be a file that they do not see.
        if self.file_name().is_some() && memchr::memmem::find(header.value(), b"filename=").is_none() {
            return Err("Invalid Content-Disposition header (filename).".to_owned());
        }
        for header in &self.headers {
            parsed.part_headers.push(self.disposition.name.as_deref().unwrap_or_default(), &header.text);
        }
        self.data_start = Some(end);
        Ok(())
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
