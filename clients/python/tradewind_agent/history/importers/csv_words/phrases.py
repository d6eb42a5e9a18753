"""What the words in a cell of a CSV log mean: one word in several languages, or an English phrase with a reason."""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_verdicts import OTHER_NO, OTHER_YES, NoTransfer, Verdict, normalise

_ENGLISH: Mapping[Verdict, str] = MappingProxyType(
    {
        Status.SUCCEEDED: "success succeeded successful successfully ok okay done complete completed finished "
        "pass passed true yes y",
        Status.FAILED: "fail failed failure error errored err false no n broken timeout timedout denied "
        "rejected crashed unsuccessful finisheddirty ko nok notok",
        Status.CANCELLED: "cancel cancelled canceled abort aborted interrupted stopped killed incomplete partial",
        NoTransfer.SKIPPED: "skip skipped exists alreadyexists unchanged dryrun notneeded uptodate ignored",
        NoTransfer.NOT_ENDED: "running active started starting inprogress queued pending submitted ready "
        "staging paused new retrying progress transferring",
    }
)
"""Words that may also have a reason behind them."""

_ALONE: Mapping[Verdict, str] = MappingProxyType(
    {
        Status.SUCCEEDED: "uploaded downloaded copied transferred "
        "erfolgreich erfolg abgeschlossen fertig beendet reussi reussie succes termine terminee "
        "completado completada exito exitoso correcto completato riuscito sucesso concluido voltooid geslaagd",
        Status.FAILED: "fehlgeschlagen fehler fehlerhaft gescheitert echec echoue echouee erreur "
        "fallido fallida error fallo fallito errore falhou falha erro mislukt fout",
        Status.CANCELLED: "abgebrochen annule annulee cancelado cancelada annullato geannuleerd",
        NoTransfer.SKIPPED: "ubersprungen ignore ignoree omitido omitida saltato overgeslagen",
    }
)
"""Words that count as the entire cell alone: next to others, of other languages too, they may mean the opposite."""


def _list_words(words_of: Mapping[Verdict, str]) -> dict[str, Verdict]:
    return {word: verdict for verdict, words in words_of.items() for word in words.split()}


_WITH_REASON: Mapping[str, Verdict] = MappingProxyType(_list_words(_ENGLISH))
_WORDS: Mapping[str, Verdict] = MappingProxyType(
    _list_words(_ALONE)
    | _list_words(_ENGLISH)
    | dict.fromkeys(OTHER_YES, Status.SUCCEEDED)
    | dict.fromkeys(OTHER_NO, Status.FAILED)
)
"""What a word means, also in other languages of Europe, without their accents."""

_TOKEN = re.compile(r"[a-z]+")
_GOOD_TOKENS = frozenset(_ENGLISH[Status.SUCCEEDED].split()) - {"true", "yes", "y", "pass"}
_BAD_TOKENS = frozenset(
    {
        "fail", "failed", "failure", "error", "errors", "errored", "timeout", "timedout", "denied", "rejected",
        "crashed", "aborted", "refused", "broken", "unsuccessful", "cancelled", "canceled", "interrupted", "killed",
    }
)  # fmt: skip
_OPEN_TOKENS = frozenset(
    {
        "no", "not", "without", "zero", "never", "with", "partially", "partly", "retrying", "un", "nok", "ko",
        "nicht", "kein", "keine", "ohne", "mit", "pas", "sans", "avec", "sin", "non", "nao", "sem",
        "niet", "geen", "zonder", "senza", "teilweise", "parcialmente", "parzialmente", "partiellement", "gedeeltelijk",
    }
)  # fmt: skip
"""Words that turn others around or limit them: what the entire text means is then left to the user."""

_BAD_ENDS = frozenset(
    {
        "partial", "incomplete", "unfinished", "mismatch", "mismatched", "corrupt", "corrupted", "abnormally",
        "unexpectedly",
    }
)  # fmt: skip
"""Words next to which a success is none."""

_REASON = re.compile(r"\s*[:;,(\[]|\s+[-–]\s+")  # dashes of people
_SHARE = re.compile(r"(?<![\d/.])(\d+) *(?:of|von|de|/) *(\d+)(?![\d/])|(?<![\d.])(\d{1,2}(?:\.\d+)?) *%")
"""How much of something was done, as in ``3 of 5`` and ``50 %``."""

_NAMED = re.compile(r"(?<!\S)(?:(?:[a-z][a-z0-9+.]*://|/|[a-z]:\\)\S+|[\w.-]+\.[a-z][a-z0-9]{0,4}(?!\S))")
_NONE_FOUND = re.compile(r"\b(?:no|0|zero|without) (?:errors?|failures?|failed|warnings?|retries)\b")
_GOOD_CODE = re.compile(r"\b(?:exit|return|ret|rc|code|status|http)[a-z0-9_/. ]*[ =:]*\b(?:0|2\d\d)\b")
_HARMLESS = _GOOD_TOKENS | frozenset(
    {
        "retry", "retries", "retried", "attempt", "attempts", "try", "tries", "file", "files", "object",
        "objects", "item", "items", "part", "parts", "byte", "bytes", "b", "kb", "mb", "gb", "tb", "kib", "mib",
        "gib", "tib", "bit", "bits", "kbit", "mbit", "gbit", "bps", "kbps", "mbps", "gbps", "s", "ms", "sec",
        "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hour", "hours", "d", "at", "in",
        "after", "on", "the", "all", "and", "a", "an", "by", "to", "from", "for", "via", "transfer",
        "transfers", "transferred", "copy", "copied", "upload", "uploaded", "download", "downloaded", "sync",
        "synced", "sent", "received", "moved", "written", "total", "size", "duration", "time", "elapsed",
        "took", "speed", "rate", "avg", "average", "verified", "validated", "checksum", "checksums", "md",
        "sha", "crc", "hash", "match", "matches", "matched", "identical", "valid", "warning", "warnings", "new",
        "replaced", "existing", "overwritten", "updated", "resumed", "cached", "normally", "none", "utc", "z",
        "t", "am", "pm", "gmt", "of", "out",
    }
)  # fmt: skip
"""Words behind a success that leave it one."""


_MARKS: Mapping[str, Verdict] = MappingProxyType(
    dict.fromkeys("✓✔✅☑", Status.SUCCEEDED) | dict.fromkeys("✗✘❌✖☒", Status.FAILED)
)


def find_word(text: str) -> Verdict | None:
    """Return what a status means, also with a reason behind it such as ``FAILED: timeout``."""
    if (mark := _MARKS.get(text.strip().rstrip("\ufe0f"))) is not None:
        return mark
    plain = fold(text)
    if (alone := _WORDS.get(normalise(plain))) is not None:
        return alone
    head, *reason = _REASON.split(plain, maxsplit=1)
    verdict = _WITH_REASON.get(normalise(head))
    if verdict is None:
        return find_verdict_among_words(plain)
    is_open = verdict is Status.SUCCEEDED and (_is_in_part(plain) or not _is_harmless(" ".join(reason)))
    return None if is_open else verdict


def find_verdict_among_words(text: str) -> Verdict | None:
    """Return what a phrase such as ``Transfer OK`` means; ``None`` where its words say both, or neither."""
    plain = fold(text)
    tokens = set(_TOKEN.findall(plain))
    good, bad = tokens & _GOOD_TOKENS, tokens & _BAD_TOKENS
    if bool(good) == bool(bad) or tokens & _OPEN_TOKENS:
        return None
    if good:
        return None if tokens & _BAD_ENDS or _is_in_part(plain) else Status.SUCCEEDED
    return _WITH_REASON.get(min(bad), Status.FAILED)


def fold(text: str) -> str:
    """Return a text in lower case without accents, and without blanks around it."""
    if not text.isascii():
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return text.strip().lower()


def _is_in_part(plain: str) -> bool:
    return any(
        found[3] is not None or int(found[1]) < int(found[2]) or not int(found[2]) for found in _SHARE.finditer(plain)
    )


def _is_harmless(reason: str) -> bool:
    """Return whether what is written behind a success leaves it one."""
    left = reason
    for pattern in (_NAMED, _NONE_FOUND, _GOOD_CODE):
        left = pattern.sub(" ", left)
    return set(_TOKEN.findall(left)) <= _HARMLESS
