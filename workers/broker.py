"""The connection of a worker to its broker, which may be lost while tasks are at work."""

from celery.app.amqp import AMQP
from kombu.connection import Connection


class LastingConnection(Connection):
    """Gives up what it has lost once.

    Celery (5.7, ``Consumer.on_connection_error_after_connected``) collects a lost connection and then closes it. A
    channel that has messages of unfinished tasks, and listened for more, cannot be closed by the first, without its
    broker; the second tries it again, finds the transport gone, and the worker ends with ``AttributeError``. Such
    messages come again by their visibility timeout, or by the sweep.
    """

    def collect(self, socket_timeout: float | None = None) -> None:
        try:
            super().collect(socket_timeout)  # type: ignore[no-untyped-call]
        finally:
            self._default_channel = None


class Broker(AMQP):  # type: ignore[misc]  # celery is untyped
    """How a worker speaks to its broker."""

    Connection = LastingConnection
