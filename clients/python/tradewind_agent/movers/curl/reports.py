"""The reports that curl writes for each file (curl(1), --write-out): which files failed, and why.

Without ``--fail`` curl stores the page that comes with an error status, and ends as if the file had come; without
``--location`` the page of a redirection. Such an answer is a failure here, whatever curl's exit code says.
"""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.movers.step_down import UNRECOVERABLE_STATUSES

Report = Mapping[str, object]

_OWN_CODES = frozenset({1, 2, 3, 4, 23, 26, 58, 59, 60, 66, 67, 77, 83, 90, 91})
"""Exit codes about the address, the options, local files, logins and certificates: no other setting changes them."""


def read_number(report: Report, key: str) -> int:
    """Return a number of a report, 0 where it holds none."""
    value = report.get(key)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def has_failed(report: Report) -> bool:
    """Return whether curl itself calls this a failure."""
    return read_number(report, "exitcode") != 0


def has_other_answer(report: Report, *, resumes: bool) -> bool:
    """Return whether a web server answered with something else than the file, and curl does not call it an error.

    Parameters
    ----------
    resumes : the user continues files; then 416 says that nothing is missing of this one, as curl has it.
    """
    status = read_number(report, "http_code")
    is_current = status == HTTPStatus.NOT_MODIFIED or (resumes and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    is_web = str(report.get("scheme", "")).lower() in ("http", "https")
    return is_web and not has_failed(report) and status >= HTTPStatus.MULTIPLE_CHOICES and not is_current


def may_succeed_alone(report: Report) -> bool:
    """Return whether fewer files at once may change how a file failed; without ``--fail`` curl calls it a success."""
    status, code = read_number(report, "http_code"), read_number(report, "exitcode")
    is_error = (code and code not in _OWN_CODES) or status in LOAD_STATUSES
    return bool(is_error) and status not in UNRECOVERABLE_STATUSES


def describe_other_answers(reports: Sequence[Report], *, uploads: bool) -> str:
    """Return a line about answers that are not the files; there is at least one."""
    first = reports[0]
    status, address = read_number(first, "http_code"), first.get("url_effective") or first.get("url")
    more = f", and to {len(reports) - 1} more in such a way" if len(reports) > 1 else ""
    is_redirect = status < HTTPStatus.BAD_REQUEST
    page = "a redirection" if is_redirect else "its error page"
    result = "it has not taken the file" if uploads else f"{first.get('filename_effective') or 'the output'} is {page}"
    advice = "--location makes curl follow it" if is_redirect else "--fail makes curl report it"
    return f"the server answered {status} to {address}{more}: {result}; {advice}"
