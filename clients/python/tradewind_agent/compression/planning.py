"""What a file is to be packed with: as the user says, or as a sample of it and history advise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tradewind.compression.advice import Question, advise
from tradewind.compression.codecs import Codec, Setting, candidates, parse_setting
from tradewind.compression.history import Case, History
from tradewind.compression.model import Line, Speeds
from tradewind.compression.steering import Steering
from tradewind_agent.compression.codecs import CodecMissing
from tradewind_agent.compression.sampling import Sample, cpu_class

if TYPE_CHECKING:
    from tradewind.wire.compression import AdviceAnswer

AUTO = "auto"
RAW = "raw"
USUAL_LINE_BPS = 50e6
"""Where nothing is known of a path, until the first blocks tell."""


@dataclass(frozen=True, slots=True)
class Wish:
    """``setting`` : by hand; ``None`` lets it be chosen and changed on the way, unless all is to go ``as_is``."""

    setting: Setting | None
    as_is: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """``auto``, ``raw``, or a codec with or without a level.

        Raises
        ------
        InvalidValue
        """
        if text == RAW:
            return cls(None, as_is=True)
        return cls(None if text.strip().lower() == AUTO else parse_setting(text))

    @classmethod
    def raw(cls) -> Self:
        """Blocks as they are: to compare."""
        return cls(None, as_is=True)

    @property
    def adapts(self) -> bool:
        return self.setting is None and not self.as_is

    def __str__(self) -> str:
        if self.as_is:
            return RAW
        return AUTO if self.setting is None else str(self.setting)


def case_of(sample: Sample) -> Case:
    return Case(file_bytes=sample.file_bytes, kind=sample.content.kind, cpu_class=cpu_class(), probe=sample.probe)


def steered(
    wish: Wish,
    sample: Sample,
    line_bps: float | None,
    codecs: frozenset[Codec],
    *,
    history: History | None = None,
    advice: "AdviceAnswer | None" = None,
) -> Steering:
    """The setting to begin with, and what the others are expected to make of the content.

    Parameters
    ----------
    codecs : that both ends have.
    advice : of the service, where it was asked: its expectations then count.

    Raises
    ------
    CodecMissing : one end lacks the codec that was asked for.
    """
    if wish.as_is:
        return Steering(expected={}, line_bps=line_bps, setting=None)
    if wish.setting is not None:
        if wish.setting.codec not in codecs:
            raise CodecMissing(f"one end has no {wish.setting.codec}; both have {', '.join(sorted(codecs)) or 'none'}")
        return Steering(expected={}, line_bps=line_bps, setting=wish.setting)
    if history is None:
        from tradewind.compression.prior import packaged_history  # noqa: PLC0415 -- built when it is needed

        history = packaged_history()
    case = case_of(sample)
    question = Question(
        case=case,
        line=Line(line_bps or USUAL_LINE_BPS),
        settings=candidates(codecs),
        content=sample.content,
    )
    chosen = advise(question, history)
    expected: Mapping[Setting, Speeds] = {
        option.setting: found.speeds
        for option in chosen.options
        if option.setting is not None and (found := history.expected(option.setting, case)) is not None
    }
    begin = chosen.best.setting
    if advice is not None:
        best = advice.best
        begin = None if best.codec is None or best.level is None else Setting(best.codec, best.level)
    return Steering(expected=expected, line_bps=line_bps, setting=begin)
