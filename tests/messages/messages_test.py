"""Every message of the resolver and of the loader stands in a golden file.

    messages_test.py SOURCE.cc... FILE.golden... TEST_test.cc...

Takes the texts that a source puts together for people (string literals with a
space in them, adjacent ones joined) and looks for each in the golden files, or
in tests that compare whole messages, so that a message which no test has ever
shown is found. What is exempt is listed with its reason.
"""

import re
import sys
import unittest

# What no golden file can have.
EXEMPT = {
    "planned without a manifest: ": "a fault of our own",
}

# Literals that only white space or comments separate are one.
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:.|\n)*?\*/|\s+|.')


def literals(text):
    """The string literals of C++ `text`, adjacent ones joined, as they print."""
    found, current = [], None
    for token in TOKEN.findall(text):
        if token.startswith('"'):
            part = token[1:-1].encode().decode("unicode_escape")
            current = part if current is None else current + part
        elif token.isspace() or token.startswith(("//", "/*")):
            continue
        elif current is not None:
            found.append(current)
            current = None
    return found


def flat(text):
    """`text` without line breaks and the indentation of details."""
    return re.sub(r"\s+", " ", text)


def messages(source):
    with open(source) as file:
        text = re.sub(r"#include[^\n]*", "", file.read())
    return [literal for literal in literals(text)
            if " " in literal.strip() and len(literal.strip()) > 8]


def missing(sources, golden):
    return [(source, message) for source in sources
            for message in messages(source)
            if flat(message).strip() not in golden and message not in EXEMPT]


class MessagesTest(unittest.TestCase):
    def test_every_message_stands_in_a_golden_file(self):
        shown = [path for path in PATHS
                 if path.endswith((".golden", "_test.cc"))]
        sources = [path for path in PATHS if path not in shown]
        golden = ""
        for path in shown:
            with open(path) as file:
                text = file.read()
            golden += flat(text)
            if path.endswith(".cc"):
                golden += flat("".join(literals(text)))
        self.assertGreater(len(sources), 5)
        for source, message in missing(sources, golden):
            with self.subTest(source=source):
                self.fail("no golden file has \"%s\"" % message)

    def test_finds_a_message_that_is_missing(self):
        text = 'f(absl::StrCat("no such ", x), "did " // why\n "\\"that\\"");'
        self.assertEqual(literals(text), ["no such ", 'did "that"'])


if __name__ == "__main__":
    PATHS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
