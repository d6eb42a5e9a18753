"""Settings of the server, of sign-in and of the agent: variables of the environment."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from infra.reference.markdown import format_code, format_literal, format_page, format_table
from services import settings
from services.openid import settings as openid_settings
from services.settings import Settings
from tradewind.units import GIB

VARIABLE = re.compile(r"^([A-Z][A-Z_]+): (.*)$", re.DOTALL)

INTRODUCTION = """\
All settings are variables of the environment. They are checked at the start: a wrong or missing one ends the process
with one line that names the variable. For every variable `X` of the server, `X_FILE` may name a file that holds the
value, so that a secret stands in no environment. An empty variable counts as not set.

Docker Compose has settings of its own; they are listed under
[install the service](../how-to/install-with-compose.md#settings)."""

AGENT = (
    ("TRADEWIND_URL", "Address of the service. It precedes the one that `tradewind login` has stored."),
    ("TRADEWIND_KEY", "API key. It precedes the stored one."),
    ("TRADEWIND_KEY_FILE", "File that holds the API key."),
    ("TRADEWIND_SPOOL", "Folder in which records wait while the service is unreachable."),
    (
        "TRADEWIND_POWER_METER",
        "Meter of this host for all commands, as `--power-meter` takes it, such as `ipmi` or `redfish:https://bmc`.",
    ),
    ("TRADEWIND_SPOOL_MAX", "Size that the spool may reach, such as `256MiB`."),
    ("TRADEWIND_SERVE_TOKEN", "Token that `serve-files` demands of its clients, as a bearer token or a password."),
    ("TRADEWIND_PROGRESS", "Time between two lines of progress where standard error is no terminal, such as `1min`."),
    ("TRADEWIND_TRACE", "Any value: an error prints its Python traceback too."),
    ("NETRC", "File with the logins of file servers; `~/.netrc` if not set."),
    ("http_proxy, https_proxy, all_proxy, no_proxy", "Proxies, as other programs use them; HTTP or SOCKS."),
    ("SSL_CERT_FILE", "Certificate authorities to trust."),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "Receiver of traces, with the extra `tradewind-agent[tracing]`."),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "Where the stored login, the spool and what is known of servers are kept."),
)


def render_settings() -> str:
    """Return the page of all settings."""
    return format_page(
        "Settings",
        INTRODUCTION,
        "## The server\n\n" + format_table(("variable", "default", "meaning"), _list_server_settings()),
        "## Sign-in at an OpenID provider\n\n"
        "How to set one up: [sign in by OpenID Connect](../how-to/sign-in-by-oidc.md).\n\n"
        + format_table(("variable", "meaning"), _list_sign_on_settings()),
        "## The agent\n\n" + format_table(("variable", "meaning"), ((format_code(name), text) for name, text in AGENT)),
    )


def _list_server_settings() -> Iterator[tuple[str, str, str]]:
    for field, text in _list_documented(settings.__file__, "Settings"):
        for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
            if found := VARIABLE.match(" ".join(paragraph.split())):
                default = "" if number else _format_default(field)
                yield format_code(found[1]), default, format_literal(found[2])


def _format_default(field: str) -> str:
    value = getattr(Settings, field, None)
    if value is None or value == "":
        return ""
    if field.endswith("_bytes"):
        return f"{value / GIB:g} GiB"
    if field == "port" or field.endswith("_port"):
        return str(value)  # as people write it, without a comma
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def _list_sign_on_settings() -> Iterator[tuple[str, str]]:
    for constant, text in _list_documented(openid_settings.__file__):
        value = getattr(openid_settings, constant)
        if isinstance(value, str) and value.startswith("TRADEWIND_"):
            yield format_code(value), format_literal(text)


def _list_documented(file: str, of_class: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of each variable of a module, or of a class in it."""
    module = ast.parse(Path(file).read_text(encoding="utf-8"))
    classes = (each for each in module.body if isinstance(each, ast.ClassDef) and each.name == of_class)
    body = module.body if of_class is None else next(classes).body
    for statement, following in pairwise(body):
        target = _find_target(statement)
        text = following.value if isinstance(following, ast.Expr) else None
        if target and isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield target, text.value


def _find_target(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return None
