"""The view of what was promised and how it ended, with the failure that the agent reported."""

from dataclasses import replace

from migrations.billing_views import SLAS_WITH_NEGOTIATED_CREDITS

SLAS_WITH_FAILURES = replace(
    SLAS_WITH_NEGOTIATED_CREDITS,
    columns=(
        *SLAS_WITH_NEGOTIATED_CREDITS.columns,
        (
            "failure_kind",
            (
                "What stopped it, by its agent: permission, not_found, no_space, checksum, network, "
                "server_refused, cancelled, timeout or other; NULL: nothing, or not known."
            ),
            "t.failure_kind",
        ),
        ("failure", "The same as a sentence, without secrets.", "t.failure"),
    ),
)

READ_COLUMNS = {"transfers": "failure_kind, failure"}
