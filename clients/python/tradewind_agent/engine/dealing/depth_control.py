"""Control of the pipelining depth: as many requests in flight as the server has proved to answer in order."""

import asyncio
from collections.abc import Callable

from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.origin.pipelining import (
    BETWEEN_ANSWERS_S,
    FIRST_PATIENCE_S,
    CheckedExchange,
    ExpectedStored,
    PipelineTrial,
    TrialVerdict,
)
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.transfer_host import FileExchange

_MOST_BEFORE_CONNECTED = 2
"""Requests that justify a connection. Dealing thousands before it is open would delay the first."""

_ROUND_TRIPS_OF_SILENCE = 5.0


class DepthControl:
    """Control of the requests in flight on one connection, with the trial that it runs, if any.

    Parameters
    ----------
    on_proved : called when the server has proved a deeper pipeline.

    Attributes
    ----------
    held : a request to send when the connection is idle, when its answer would look like the previous one.
    """

    def __init__(self, on_proved: Callable[[], None]) -> None:
        self.held: FileExchange | None = None
        self._on_proved = on_proved
        self._loop = asyncio.get_running_loop()
        self._trial: PipelineTrial | None = None
        self._is_draining = False

    def has_room(self, outstanding: int, window: int, traits: OriginTraits, connection: Connection | None) -> bool:
        """Return whether one more request may follow the ``outstanding`` ones."""
        if self._is_draining or outstanding >= window:
            return False
        if connection is None:
            return outstanding < min(traits.trial_limit(window), _MOST_BEFORE_CONNECTED)
        if self._trial is not None and (self._trial.is_open or self._trial.is_running):
            return self._trial.is_open
        return True

    def may_follow(self, outstanding: int, traits: OriginTraits, connection: Connection | None) -> bool:
        """Return whether so many requests in flight are proved, or part of a trial; else drain for a deeper trial.

        Call it only where nothing but the missing proof prevents one more request.
        """
        is_trying = connection is None or (self._trial is not None and (self._trial.is_open or self._trial.is_running))
        self._is_draining = not is_trying and outstanding >= traits.proved_depth
        return not self._is_draining

    def send(
        self,
        connection: Connection,
        exchange: FileExchange,
        before: FileExchange | None,
        traits: OriginTraits,
        *,
        window: int,
        round_trip_s: float,
    ) -> None:
        """Send a request behind ``before``; hold it until the connection is idle where it must not follow."""
        if not connection.in_flight:
            self._is_draining = False
            self._trial = self._open_trial(connection, exchange, traits, window, round_trip_s)
        trial = self._trial
        if trial is not None and trial.is_open:
            if trial.can_take(exchange):
                connection.send(trial.add(exchange))
            else:
                trial.close()
                self.held = exchange
        elif connection.in_flight:
            is_proved = connection.in_flight < min(window, traits.proved_depth)
            if is_proved and (before is None or exchange.may_follow(before, has_ranges=traits.ranges)):
                connection.send(CheckedExchange(exchange))
            else:
                self.held = exchange
        else:
            # A server may confuse it with requests that follow. Alone, a different answer is another file version.
            connection.send(CheckedExchange(exchange) if window > 1 else exchange)

    def take_held(self) -> FileExchange | None:
        """Return the connection is idle: the request that has waited for this."""
        self._is_draining = False
        held, self.held = self.held, None
        return held

    def reset(self) -> None:
        """Forget the trial of a closed connection; a held request is reported as lost."""
        self._trial = None
        if (held := self.take_held()) is not None:
            held.on_lost(None)

    def _open_trial(
        self, connection: Connection, exchange: FileExchange, traits: OriginTraits, window: int, round_trip_s: float
    ) -> PipelineTrial | None:
        """Return a trial of a deeper pipeline than is proved, where one is wanted; of uploads, whatever is proved.

        Answers to uploads look the same, so that no trial shows in which order they come. Where one of several is an
        error, it may be another one's.
        """
        is_deeper = window > traits.proved_depth
        is_upload = isinstance(exchange.expected_answer, ExpectedStored)
        if window <= 1 or not (is_deeper or is_upload):
            return None

        def end(verdict: TrialVerdict, members: int) -> None:
            traits.note_trial(verdict, members)
            if trial is self._trial:
                self._trial = None
                connection.lift_silence_limit()
            if verdict is TrialVerdict.PROVED:
                self._on_proved()

        def close() -> None:
            trial.close()
            if trial is not self._trial:
                return
            if len(trial.members) <= traits.proved_depth and not is_upload:
                self._trial = None  # so few are proved: more may follow
            elif is_deeper and trial.is_running:
                connection.limit_silence(
                    FIRST_PATIENCE_S, max(BETWEEN_ANSWERS_S, _ROUND_TRIPS_OF_SILENCE * round_trip_s)
                )

        trial = PipelineTrial(traits.trial_limit(window), end)
        self._loop.call_soon(close)  # requests dealt in this iteration of the loop leave together
        return trial
