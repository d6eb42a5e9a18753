"""What a command prints of names that it did not choose."""

import os

from tradewind_agent.cli.terminal import Terminal

STEERING = "\x1b[31mred\x1b]0;title\x07\x9b2J\r"
NO_TEXT = os.fsdecode(b"a\xff")
PLAIN = r"\x1b[31mred\x1b]0;title\x07\x9b2J"


def test_names_out_of_files_do_not_steer_the_terminal(capsys):
    terminal = Terminal()
    terminal.print_result(f"first {STEERING}|\nsecond\tline é", {})
    terminal.print_table(["name"], [[STEERING + "|"]], {})
    terminal.note(f"no {STEERING}")
    terminal.note(NO_TEXT)
    told = capsys.readouterr()
    assert told.out == f"first {PLAIN}\\r|\nsecond\tline é\nname\n{PLAIN}\\r|\n"
    assert told.err == f"tradewind: no {PLAIN}\ntradewind: a\\udcff\n"
