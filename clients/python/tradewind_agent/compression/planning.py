"""What a file is to be packed with: as the user says, or as a sample of it and history advise."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tradewind.compression.advice import Question, advise
from tradewind.compression.codecs import Codec, Setting, candidates, parse_setting
from tradewind.compression.content import Kind
from tradewind.compression.history import Case
from tradewind.compression.model import Line
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
    advice: "AdviceAnswer | None" = None,
) -> Steering:
    """The setting to begin with, and what the others are expected to make of the content.

    Parameters
    ----------
    codecs : that both ends have.
    advice : of the service, where it was asked: its expectations are what steering begins with.

    Raises
    ------
    CodecMissing : one end lacks the codec that was asked for.
    """
    from tradewind.compression.prior import packaged_history, usual_probe  # noqa: PLC0415 -- built when it is needed

    if wish.as_is:
        return Steering(expected={}, line_bps=line_bps, setting=None)
    if wish.setting is not None:
        if wish.setting.codec not in codecs:
            raise CodecMissing(f"one end has no {wish.setting.codec}; both have {', '.join(sorted(codecs)) or 'none'}")
        return Steering(expected={}, line_bps=line_bps, setting=wish.setting)
    case = case_of(sample)
    if advice is None:
        question = Question(
            case=case,
            line=Line(line_bps or USUAL_LINE_BPS),
            settings=candidates(codecs),
            content=sample.content,
        )
        advised = advise(question, packaged_history())
        begin, hardly_packs = advised.best.setting, advised.incompressible
        expected = {each.setting: each.speeds for each in advised.options if each.setting and each.speeds}
    else:
        best, hardly_packs = advice.best, advice.incompressible
        begin = None if best.codec is None or best.level is None else Setting(best.codec, best.level)
        expected = dict(each.expected for each in advice.options if each.expected is not None)
    if hardly_packs or not expected:
        # What was looked at may be the one part without order: the rest is expected to be as usual once it packs.
        usual = replace(case, kind=Kind.TEXT, probe=usual_probe(Kind.TEXT))
        expected = {
            setting: found.speeds
            for setting in candidates(codecs)
            if (found := packaged_history().expected(setting, usual)) is not None
        }
    exponent = 0.0 if hardly_packs else 1.0
    return Steering(expected=expected, line_bps=line_bps, setting=begin, ratio_exponent=exponent)
