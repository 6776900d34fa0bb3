"""How a compilation fails: in one sentence that the trainer can print."""
import json
import os
import sys

# What the process ends with, by the kind of what went wrong. 2 is for a wrong
# command line, as argparse has it.
EXIT_CODES = {"unsupported": 3, "environment": 4, "compile": 5}


class CompileError(Exception):
    """Why there is no package.

    `kind` is "unsupported" (this graph cannot be compiled, so that trying again
    is useless), "environment" (something is missing on the machine) or
    "compile" (the compiler failed). `hint` is what the user can do, or "".
    """

    def __init__(self, kind, message, hint=""):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint


def leave(error):
    """Ends the process with `error` as one JSON line, the last on stderr."""
    text = json.dumps({"error": error.kind, "message": error.message,
                       "hint": error.hint})
    print(text, file=sys.stderr, flush=True)
    sys.stdout.flush()
    # Libraries that say something at the end would come after it.
    os._exit(EXIT_CODES[error.kind])
