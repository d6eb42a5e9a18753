"""The two ways of a path, as its ends see them."""

from enum import StrEnum


class Direction(StrEnum):
    """Which way bytes go: ``up`` from a client to its server, ``down`` back."""

    DOWN = "down"
    UP = "up"
