"""The version of the agent that is installed."""


def get_agent_version() -> str | None:
    """Return the version of the installed agent; ``None`` if it runs from a source tree."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 -- half of the time of `tradewind --version`

    try:
        return version("tradewind-agent")
    except PackageNotFoundError:
        return None
