"""Whether a remark in a row of a CSV log says that the transfer failed: only where it is a verdict, or begins with one.

A word somewhere in a sentence may be of another disk, job or run.
"""

import re
from functools import lru_cache

from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_verdicts import OTHER_NO
from tradewind_agent.history.importers.csv_words.phrases import find_word, fold

_TRUTHS = OTHER_NO | {"n", "no", "f", "false"}
"""Failures in a column of states; in one of remarks they may be of anything."""

_WORD = re.compile(r"\W*([^\W\d_]+)\W*")
_SUBJECT = (
    r"(?:(?:the|this|our) )?"
    r"(?:(?:file )?(?:transfer|upload|download|copy|job|run|sync|user)(?: (?:was|has|did))?:? )?"
)
_VERDICT = (
    r"error|fail|failed|failure|aborted|abort|cancell?ed|timed out|interrupted|incomplete|unfinished|crashed|killed"
    r"|broken pipe|disk full|checksum mismatch|(?:permission|access) denied|no space left(?: on device)?"
    r"|connection (?:was )?(?:reset|refused|closed|lost|aborted|timed out)|(?:network|host) (?:is )?unreachable"
    r"|no route to host|stopped (?:at|after) [\d.]+ ?%"
    r"|(?:did not|didn't|never|could not|not) (?:finish|finished|complete|completed)"
)
_END = r"\s*(?:$|[;,.!(\[\])]|[-–—]\s)"
_BEGINS_AS_VERDICT = re.compile(
    rf"\W*{_SUBJECT}(?:"
    rf"(?:{_VERDICT})(?={_END}|\s*:|\s+(?:by|at|after|with|due|because|when|while|during|waiting)\b)"
    rf"|(?:failed|unable) to \w"
    rf"|timeout(?={_END}|\s*:\s*[a-z]|\s+(?:after|when|while|during|waiting)\b))"
)
_CODE = re.compile(r"\W*(?:errors?|failures?|failed)\s*[:=]\s*\w|\W*error (?:code )?\d")
_NONE_FOUND = re.compile(
    r"\W*\w+(?: code)?\s*[:=,;(\[\s-]\s*(?:(?:0+|none|no|n/a|na|nil|null|false)?\W*$|none (?:found|seen)\b"
    r"|(?:no|0) (?:errors?|failures?|failed|problems?)\b)|\W*\w+\s*[:=]\s*0 files\W*$"
)
"""Behind a word of a failure: that there was none."""

_REFUSED_BY_SERVER = re.compile(
    r"(?:http )?[45]\d\d:? (?:bad request|unauthorized|forbidden|not found|request timeout|internal (?:server )?error"
    r"|bad gateway|service unavailable|gateway time-?out)\b"
)
_MAY_BE_ONE = re.compile(
    r"fail|abort|cancel|time|interrupt|incomplete|finish|complete|crash|kill|terminat|broken|full|mismatch|denied"
    r"|connection|unreachable|unable|space|route|stop|err|[45]\d\d"
)
"""What each phrase above has: most remarks have none of it."""

_REMEMBERED = 4096


@lru_cache(_REMEMBERED)
def names_failure(text: str) -> bool:
    """Return whether a remark is a verdict of a failure, or begins with one."""
    plain = fold(text)
    if (word := _WORD.fullmatch(plain)) is not None:
        return word[1] not in _TRUTHS and find_word(word[1]) in (Status.FAILED, Status.CANCELLED)
    if plain[:1] in "✗✘❌✖☒":
        return plain != ""
    if _MAY_BE_ONE.search(plain) is None or _NONE_FOUND.match(plain) is not None:
        return False
    return any(pattern.match(plain) is not None for pattern in (_BEGINS_AS_VERDICT, _CODE, _REFUSED_BY_SERVER))
