"""The agent's logs: uploaded, followed, and kept through a kill."""
