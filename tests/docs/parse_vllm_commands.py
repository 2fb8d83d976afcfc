"""Parses commands of vLLM's with vLLM's own parsers: ``parse_vllm_commands.py < commands.json``, each a list of words.

What accelplug's part of ``--additional-config`` says is read as a server would read it.
"""

from __future__ import annotations

import functools
import json
import sys

import vllm.entrypoints.cli.benchmark.main as bench
import vllm.entrypoints.cli.serve as serve
from accelplug_vllm.native import options
from vllm.utils.argparse_utils import FlexibleArgumentParser

COMMANDS = {"bench": bench, "serve": serve}


@functools.cache
def parser(command: str) -> FlexibleArgumentParser:
    sys.argv = ["vllm", command]  # vLLM looks at it, and leaves out what another command would need
    made = FlexibleArgumentParser()
    commands = made.add_subparsers(required=True, dest="subparser")
    for each in COMMANDS[command].cmd_init():
        each.subparser_init(commands)
    return made


def main() -> None:
    for words in json.load(sys.stdin):
        given = parser(words[0]).parse_args(words)
        options.read(getattr(given, "additional_config", {}))


if __name__ == "__main__":
    main()
