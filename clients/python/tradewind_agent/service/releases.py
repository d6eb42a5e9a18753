"""SDK: releases of what was learned, how one compares with the one in force, and putting one in force."""

from pydantic import TypeAdapter

from tradewind.wire.releases import PublishRelease, Release, ReleaseComparison
from tradewind_agent.service.calls import Calls

PATH = "/v1/releases"


class Releases:
    """Releases of the key's tenant; changing what is in force needs the scope operator."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def page(self, *, before: int | None = None, limit: int | None = None) -> tuple[Release, ...]:
        """A page of releases, the newest first; the id of its last one is the ``before`` of the next page."""
        asked = {"before": before, "limit": limit}
        given = {name: value for name, value in asked.items() if value is not None}
        return self._calls.call("GET", PATH, TypeAdapter(tuple[Release, ...]), params=given)

    def compare(self, release_id: int) -> ReleaseComparison:
        """A release beside the one in force."""
        return self._calls.call("GET", f"{PATH}/{release_id}/comparison", TypeAdapter(ReleaseComparison))

    def publish(self, release_id: int, reason: str) -> Release:
        """Put a release in force that was rejected or rolled back; the log of changes keeps the reason."""
        body = PublishRelease(reason=reason)
        path = f"{PATH}/{release_id}/publish"
        return self._calls.call("POST", path, TypeAdapter(Release), body=body, repeatable=False)

    def roll_back(self, release_id: int) -> Release:
        """Return to ``release_id``, or from it to its parent when it is the one in force; the release now in force."""
        return self._calls.call("POST", f"{PATH}/{release_id}/rollback", TypeAdapter(Release), repeatable=False)
