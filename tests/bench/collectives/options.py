# SPDX-License-Identifier: Apache-2.0
"""The options that the benchmarks of the collectives have in common, and what they say of wrong usage."""

import argparse
import os
import sys


class Parser(argparse.ArgumentParser):
    def __init__(self, prog):
        super().__init__(prog=prog, add_help=False)
        self.add_argument("--json")
        self.add_argument("--quick", action="store_true")
        self.add_argument("--rounds", type=self.number("--rounds", 1, 99))
        self.add_argument("--patience", type=self.number("--patience", 0, 600))

    def parse_args(self):
        options = super().parse_args()
        if options.rounds is None:
            options.rounds = 1 if options.quick else 3
        if options.patience is None:
            options.patience = 1 if options.quick else 20
        return options

    def error(self, message):
        print(f"{self.prog}: {message}; see --help", file=sys.stderr)
        sys.exit(2)

    def needs_built(self, program):
        if not os.path.exists(program):
            self.error(f"{program}: not built: contrib/build.sh release -DBATCHAI_BUILD_TESTS=cluster builds it")

    def number(self, option, least, most):
        def parse(text):
            if not text.isdigit() or not least <= int(text) <= most:
                self.error(f"{option} {text}: expected {least} to {most}")
            return int(text)

        return parse

    def one_of(self, option, allowed):
        def parse(text):
            words = text.split(",")
            for word in words:
                if word not in allowed:
                    self.error(f"{option} {word}: expected {', '.join(allowed)}")
            return words

        return parse
