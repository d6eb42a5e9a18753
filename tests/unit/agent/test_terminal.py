"""What a command prints of names that it did not choose."""

from tradewind_agent.cli.terminal import Terminal

STEERING = "\x1b[31mred\x1b]0;title\x07\x9b2J\r"
PLAIN = r"\x1b[31mred\x1b]0;title\x07\x9b2J"


def test_names_out_of_files_do_not_steer_the_terminal(capsys):
    terminal = Terminal()
    terminal.result(f"first {STEERING}|\nsecond\tline é", {})
    terminal.table(["name"], [[STEERING + "|"]], {})
    terminal.note(f"no {STEERING}")
    told = capsys.readouterr()
    assert told.out == f"first {PLAIN}\\x0d|\nsecond\tline é\nname\n{PLAIN}\\x0d|\n"
    assert told.err == f"tradewind: no {PLAIN}\n"
