"""SDK: device profiles and the batching of queued jobs, as ``client.mobile``."""

from pydantic import TypeAdapter

from tradewind.wire.batching import BatchingAdvice, BatchingRequest
from tradewind.wire.devices import DeviceCatalogue, NewDeviceProfile, WireDeviceProfile
from tradewind_agent.service.calls import Calls


class Mobile:
    """Calls about devices and their radios; raises what every call of the client does."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def devices(self) -> DeviceCatalogue:
        """Return all device and radio profiles, the tenant's own first."""
        return self._calls.call("GET", "/v1/devices", TypeAdapter(DeviceCatalogue))

    def device(self, name: str) -> WireDeviceProfile:
        return self._calls.call("GET", f"/v1/devices/{name}", TypeAdapter(WireDeviceProfile))

    def upload_device(self, name: str, profile: NewDeviceProfile) -> WireDeviceProfile:
        """Store a profile, or replace one's own of that name."""
        return self._calls.call("PUT", f"/v1/devices/{name}", TypeAdapter(WireDeviceProfile), body=profile)

    def remove_device(self, name: str) -> None:
        self._calls.send("DELETE", f"/v1/devices/{name}")

    def advise_batching(self, request: BatchingRequest) -> BatchingAdvice:
        """Return when to send queued jobs so that they share the radio's tail."""
        return self._calls.call("POST", "/v1/batching/advise", TypeAdapter(BatchingAdvice), body=request)
