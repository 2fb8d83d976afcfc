"""Parses commands of vLLM's with vLLM's own parsers: ``parse_vllm_commands.py < commands.json``, each a list of words.

What accelplug's part of ``--additional-config`` says is read as a server would read it.
"""

from __future__ import annotations

import json
import sys

import vllm.entrypoints.cli.benchmark.main as bench
import vllm.entrypoints.cli.serve as serve
from accelplug_vllm.native import options
from vllm.utils.argparse_utils import FlexibleArgumentParser


def main() -> None:
    parser = FlexibleArgumentParser()
    commands = parser.add_subparsers(required=True, dest="subparser")
    for module in (serve, bench):
        for command in module.cmd_init():
            command.subparser_init(commands)
    for words in json.load(sys.stdin):
        given = parser.parse_args(words)
        options.read(getattr(given, "additional_config", {}))


if __name__ == "__main__":
    main()
