#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""skipped.py [REPORT.xml]... - lists the tests that were skipped in the last run of tests/run.sh, by reason, and then
its ten longest.

The reports are those that ctest --output-junit writes (default: build/results). A reason is what bats' skip says, or the
last line of a test that ended with 77."""

import collections
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree


def skips(case):
    """(test, reason) of each that was skipped: the tests of a file of bats, or the whole."""
    name, said = case.get("name"), case.findtext("system-out") or ""
    found = re.findall(r"^ok \d+ (.*?) # skip ?(.*)$", said, re.MULTILINE)
    if found:
        return [(f"{name}: {title}", reason) for title, reason in found]
    last = re.sub(r"^(run: \S+|skipped): ", "", said.strip().rpartition("\n")[2])
    return [(name, last)] if case.find("skipped") is not None else []


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return
    results = Path(__file__).resolve().parent.parent / "build/results"
    reports = sys.argv[1:] or sorted(results.glob("*.xml"), key=os.path.getmtime)
    cases = [case for report in reports for case in ElementTree.parse(report).iter("testcase")]
    by_reason = collections.defaultdict(list)
    for case in cases:
        for test, reason in skips(case):
            by_reason[reason or "no reason given"].append(test)
    for reason, tests in sorted(by_reason.items()):
        print(f"skipped: {reason}", *tests, sep="\n    ")
    longest = sorted(cases, key=lambda case: -float(case.get("time")))[:10]
    print("\nlongest:", ", ".join(f"{case.get('name')} {float(case.get('time')):.0f} s" for case in longest))


main()
