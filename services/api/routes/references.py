"""Identifiers in paths that need more validation than their type."""

from typing import Annotated

from fastapi import Path

from tradewind.wire.base import BIGINT_MAX

ReleaseId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
