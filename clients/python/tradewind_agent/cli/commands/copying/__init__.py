"""The kinds of copies that `tradewind copy` makes besides the usual one."""
