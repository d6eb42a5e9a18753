"""The connection of a worker to its broker, which may be lost while tasks run."""

from celery.app.amqp import AMQP
from kombu.connection import Connection


class LastingConnection(Connection):
    """A connection that releases a lost channel once.

    Celery (5.7, ``Consumer.on_connection_error_after_connected``) collects a lost connection and then closes it. A
    consuming channel with messages of unfinished tasks cannot be closed by the first call, without its broker; the
    second tries again, finds no transport, and the worker ends with ``AttributeError``. Such messages are redelivered
    after their visibility timeout, or by the sweep.
    """

    def collect(self, socket_timeout: float | None = None) -> None:
        try:
            super().collect(socket_timeout)  # type: ignore[no-untyped-call]
        finally:
            self._default_channel = None


class Broker(AMQP):  # type: ignore[misc]  # celery is untyped
    """The AMQP part of the application, with lasting connections."""

    Connection = LastingConnection
