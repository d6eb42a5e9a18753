"""The Tradewind agent: SDK, command line, transfer engine, meters and log importers for end systems."""
