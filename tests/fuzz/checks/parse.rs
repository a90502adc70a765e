//! Any bytes parse; every place lies in a file; text without a finding prints and reads back as the same tree.

use portcullis::seclang::ast::{Directive, Program};
use portcullis::seclang::parser::{parse, parse_text};
use portcullis::seclang::print;
use portcullis::seclang::source::{FileId, MemoryLoader, Span};

/// Parses `data` as a file that may include itself and one other, and checks what came of it.
pub(crate) fn run(data: &[u8]) {
    let mut files = MemoryLoader::new();
    files.insert("main.conf", data.to_vec());
    files.insert("more/a.conf", *b"SecMarker a\nInclude b.conf\nInclude ../main.conf");
    let parsed = parse(&files, "main.conf");
    let spans = parsed.program.directives.iter().map(|directive| directive.span);
    for span in spans.chain(parsed.diagnostics.iter().map(|diagnostic| diagnostic.span)) {
        let line = parsed.program.sources.line(span.file, span.line);
        assert!(span.column >= 1 && span.len >= 1 && line.is_some(), "{span:?} is nowhere");
    }
    for diagnostic in &parsed.diagnostics {
        assert!(!diagnostic.render(&parsed.program.sources).is_empty(), "a diagnostic says nothing");
    }
    // In a file of CRS 3.x four backslashes are two: eight are four, which read as two once more.
    let halved_twice =
        data.windows(8).any(|bytes| bytes == br"\\\\") && data.windows(9).any(|bytes| bytes == b"OWASP_CRS");
    if parsed.diagnostics.is_empty() && !halved_twice {
        let printed = print::program(&parsed.program);
        let again = parse_text(&files, "printed.conf", &printed);
        assert_eq!(again.diagnostics, [], "the printed text has findings");
        assert_eq!(meaning(&parsed.program), meaning(&again.program), "printing changed the tree");
    }
}

fn meaning(program: &Program) -> Vec<Directive> {
    let nowhere = Span { file: FileId(0), line: 1, column: 1, len: 1 };
    program.directives.iter().cloned().map(|directive| directive.placed_at(nowhere)).collect()
}
