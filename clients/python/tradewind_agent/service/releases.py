"""SDK: releases of what was learned; compare one with the current release, publish one, or roll back."""

from pydantic import TypeAdapter

from tradewind.wire.releases import PublishRelease, Release, ReleaseComparison
from tradewind_agent.service.calls import Calls

PATH = "/v1/releases"


class Releases:
    """Releases of the key's tenant; changing the current release needs the scope operator."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def page(self, *, before: int | None = None, limit: int | None = None) -> tuple[Release, ...]:
        """Return a page of releases, the newest first; the id of its last one is the ``before`` of the next page."""
        parameters = {"before": before, "limit": limit}
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._calls.call("GET", PATH, TypeAdapter(tuple[Release, ...]), params=given)

    def compare(self, release_id: int) -> ReleaseComparison:
        """Compare a release with the current one."""
        return self._calls.call("GET", f"{PATH}/{release_id}/comparison", TypeAdapter(ReleaseComparison))

    def publish(self, release_id: int, reason: str) -> Release:
        """Publish a release that was rejected or rolled back; the log of changes keeps the reason."""
        body = PublishRelease(reason=reason)
        path = f"{PATH}/{release_id}/publish"
        return self._calls.call("POST", path, TypeAdapter(Release), body=body, repeatable=False)

    def roll_back(self, release_id: int) -> Release:
        """Return to ``release_id``, or from the current release to its parent; return the new current release."""
        return self._calls.call("POST", f"{PATH}/{release_id}/rollback", TypeAdapter(Release), repeatable=False)
