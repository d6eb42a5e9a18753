"""The server: its API, its pages, its use cases, and the processes that run them."""
