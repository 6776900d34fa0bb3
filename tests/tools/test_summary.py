#!/usr/bin/env python3
"""Counts what `bazel test` printed: test_summary.py STEP...

For each STEP it reads STEP.log, the output, and STEP.status, "SECONDS EXIT".
It prints a line about each, with the names of what failed, then 'N passed, N
failed' as the last line. Its own exit code is 0 only where every step ended well
and something was tested.
"""
import os
import re
import sys

CASES = re.compile(r"^Test cases: finished with .*?(\d+) passing and .*?(\d+) "
                   r"failing", re.MULTILINE)
TARGETS = re.compile(r"^Executed (\d+) out of (\d+) tests?:", re.MULTILINE)
# Targets that never ran, which count no test case.
BROKEN = re.compile(r"^//\S+ +(?:FAILED TO BUILD|NO STATUS)$", re.MULTILINE)
# What --test_summary=detailed says of targets and test cases that did not pass.
FAILURES = re.compile(
    r"^(//\S+ +(?:FAILED|TIMEOUT|NO STATUS).*| +FAILED +\S.*)$", re.MULTILINE)
# A suite that is broken from end to end need not be listed to its end.
MOST_FAILURES = 40
TIMED_OUT = 124


class Step:
    """What one run of `bazel test` came to."""

    def __init__(self, name, log, seconds, status):
        self.name = name
        self.seconds = seconds
        self.status = status
        self.passed, failed = last(CASES, log)
        executed, self.targets = last(TARGETS, log)
        self.failures = [" ".join(line.split())
                         for line in FAILURES.findall(log)]
        broken = len(BROKEN.findall(log))
        self.cached = self.targets - executed - broken
        self.failed = failed + broken
        # A run that failed without a failed test, as when a file does not parse.
        if status != 0 and self.failed == 0:
            self.failed = 1

    def describe(self):
        text = ("%s: %d test cases in %d targets, %d of them from the cache, "
                "in %d min %02d s"
                % (self.name, self.passed + self.failed, self.targets,
                   self.cached, *divmod(self.seconds, 60)))
        if self.status == TIMED_OUT:
            text += "; stopped for lack of time"
        elif self.status != 0:
            text += "; exit code %d" % self.status
        shown = self.failures[:MOST_FAILURES]
        if len(self.failures) > len(shown):
            shown.append("and %d more" % (len(self.failures) - len(shown)))
        return "\n    ".join([text] + shown)


def last(pattern, log):
    """The two numbers of the pattern's last match, or zeros."""
    matches = pattern.findall(log)
    return map(int, matches[-1] if matches else (0, 0))


def read_step(path):
    with open(path + ".log", encoding="utf-8", errors="replace") as file:
        log = file.read()
    with open(path + ".status", encoding="utf-8") as file:
        seconds, status = map(int, file.read().split())
    return Step(os.path.basename(path), log, seconds, status)


def main(paths):
    steps = [read_step(path) for path in paths]
    for step in steps:
        print(step.describe())
    passed = sum(step.passed for step in steps)
    failed = sum(step.failed for step in steps)
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
