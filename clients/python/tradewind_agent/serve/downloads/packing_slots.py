"""How many downloads a server packs at once, and the cores that they share."""

from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Lock


class PackingSlots:
    """``most`` simultaneous packed downloads; without a free slot a file is sent unpacked.

    ``trials`` : lock of the request that tries codecs on a sample.
    """

    def __init__(self, most: int) -> None:
        self._free = BoundedSemaphore(most) if most else None
        self.trials = Lock()
        self._making = Lock()
        self._pool: ThreadPoolExecutor | None = None

    def try_acquire(self) -> bool:
        """Acquire a slot if one is free, and return whether; then `release` must follow."""
        return self._free is not None and self._free.acquire(blocking=False)

    def release(self) -> None:
        assert self._free is not None
        self._free.release()

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Return a thread a core, for the blocks of all downloads together; made when the first is packed."""
        from tradewind_agent.compression.cores import count_usable_cores  # noqa: PLC0415 -- loaded with the first, see above

        with self._making:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(count_usable_cores(), thread_name_prefix="tradewind-pack")
            return self._pool

    def close(self) -> None:
        with self._making:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
