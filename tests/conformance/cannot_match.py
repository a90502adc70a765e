"""Can a rule of the CRS match what a test sends? A second opinion that shares no code with Portcullis.

    python3 tests/conformance/cannot_match.py RULES < JSON > JSON

RULES is the folder of the rule files. Each line read is `{"rule": ID, "text": TEXT}`; for each the answer is `true` or
`false`, one a line: whether the first rule of the chain with that id matches TEXT, or any piece of it. Pieces are what
a request's parts may be: the text is taken whole, by lines and split at every sign that separates names and values,
each as it is, URL-decoded, in lower case and without blanks. That is more than the rule sees, so `false` is proof.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote_to_bytes

SEPARATORS = re.compile(rb"""[\r\n&=?;<>"' /:]+""")


def read_rules(folder):
    """Rule id to (operator, argument), by a reading of the files as Apache reads its configuration."""
    rules = {}
    for path in sorted(folder.glob("*.conf")):
        text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\\\n", b"")
        for line in text.split(b"\n"):
            words = split_words(line)
            if len(words) == 4 and words[0] == b"SecRule" and (found := re.search(rb"\bid:'?(\d+)", words[3])):
                rules[int(found[1])] = split_operator(words[2])
    return rules


def split_words(line):
    """The words of a directive: bare, or in double quotes, where a backslash escapes itself and the quote."""
    words = re.findall(rb'"(?:[^"\\]|\\.)*"|\S+', line.strip())
    return [re.sub(rb'\\([\\"])', rb"\1", word[1:-1]) if word[:1] == b'"' else word for word in words]


def split_operator(text):
    if not text.startswith(b"@"):
        return b"rx", text
    name, _, argument = text[1:].partition(b" ")
    return name, argument.strip()


def matcher(operator, folder):
    name, argument = operator
    if name == b"rx":
        # As ModSecurity 2 compiles it: the dot matches a line feed, the dollar sign only the end.
        return re.compile(re.sub(rb"\$(?=$|\))", rb"\\Z", argument), re.DOTALL).search
    if name == b"pmFromFile":
        lines = (folder / argument.decode()).read_bytes().lower().split(b"\n")
        phrases = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
        return lambda text: any(phrase in text.lower() for phrase in phrases)
    raise ValueError(f"no second opinion on @{name.decode()}")


def pieces(text):
    once = {text, *text.split(b"\n"), *SEPARATORS.split(text)}
    # A header's value and an attribute's value keep their blanks.
    once |= {part.strip() for line in text.split(b"\n") for part in [*line.split(b": "), *line.split(b'"')]}
    once |= {unquote_to_bytes(piece.replace(b"+", b" ")) for piece in once}
    once |= {piece.lower() for piece in once}
    return once | {re.sub(rb"\s+", b"", piece) for piece in once}


def main(folder):
    rules = read_rules(folder)
    for line in sys.stdin:
        question = json.loads(line)
        search = matcher(rules[question["rule"]], folder)
        text = question["text"].encode("latin-1")
        print(json.dumps(any(search(piece) for piece in pieces(text))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
