"""The commands of ``tradewind``: one module for each command or group of subcommands."""
