"""Commands that are printed can be typed: a shell reads the same words from one line."""

import os
import subprocess

import pytest

from tradewind_agent.movers.port import Command
from tradewind_agent.movers.wrap.report import format_command


@pytest.mark.parametrize(
    "word",
    ["plain", "two words", "%{json}\n\x1e", "it's a \\ \t tab", "é\u200b", "caf\udce9"],
    ids=["plain", "blank", "control", "quote", "invisible", "not UTF-8"],
)
def test_a_shell_reads_the_words_of_a_printed_command(word: str):
    printed = format_command(Command(words=("printf", "%s", word)))
    assert "\n" not in printed
    assert printed.isprintable()
    done = subprocess.run(["bash", "-c", printed], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert os.fsdecode(done.stdout) == word
