"""Triggers that mark what is to be billed again, and that count imported records as they are stored.

Marks are only ever added by who changes rows and taken by who computes them again. So nobody waits for another, and a
change that a computation did not see leaves its mark.
"""

_OF_SERVICE = "(transfer_id IS NOT NULL OR quote IS NOT NULL) AND (chunk IS NULL OR chunk = 'whole')"
_IMPORTED = "transfer_id IS NULL AND quote IS NULL AND (chunk IS NULL OR chunk = 'whole')"


def _build_function(name: str, body: str) -> str:
    return f"""
    CREATE FUNCTION {name}() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
{body}
        RETURN NULL;
    END
    $$
    """


def _of_logs(rows: str, sign: str) -> str:
    # A tenant that is removed takes its counts with it.
    return f"""
            INSERT INTO usage_marks (tenant_id, unit)
            SELECT DISTINCT tenant_id, coalesce(transfer_id, id) FROM {rows} WHERE {_OF_SERVICE};
            INSERT INTO usage_imports (tenant_id, day, batch_id, transfers, bytes_moved)
            SELECT tenant_id, (started_at AT TIME ZONE 'UTC')::date, batch_id, {sign}count(*), {sign}sum(bytes_moved)
              FROM {rows} WHERE {_IMPORTED} AND EXISTS (SELECT FROM tenants WHERE tenants.id = {rows}.tenant_id)
             GROUP BY 1, 2, 3;"""  # noqa: S608 - of constants


def _on_old_and_new(of: str, columns: str = "tenant_id") -> str:
    """Return the marks of the rows before and after, of a trigger for each statement."""
    return f"""
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO usage_marks ({columns}) {of.format(rows="new_rows")};
        END IF;
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO usage_marks ({columns}) {of.format(rows="old_rows")};
        END IF;"""


_LOGS = _build_function(
    "mark_usage_of_logs",
    f"""
        IF TG_OP <> 'DELETE' THEN {_of_logs("new_rows", "")}
        END IF;
        IF TG_OP <> 'INSERT' THEN {_of_logs("old_rows", "-")}
        END IF;""",
)
_QUOTES = _build_function(
    "mark_usage_of_quotes",
    _on_old_and_new("SELECT DISTINCT tenant_id, transfer_id FROM {rows} WHERE amount IS NOT NULL", "tenant_id, unit"),
)
_TRANSFERS = _build_function(
    "mark_usage_of_transfer",
    """
        INSERT INTO usage_marks (tenant_id, unit)
        VALUES (coalesce(NEW.tenant_id, OLD.tenant_id), coalesce(NEW.id, OLD.id));""",
)
_CUSTOMER_KEYS = _build_function(
    "mark_usage_of_customer_keys",
    _on_old_and_new("SELECT DISTINCT tenant_id, key_id FROM {rows}", "tenant_id, key_id"),
)
# Which key may upload for which depends on scopes, and on names of revoked ones.
_KEYS = _build_function(
    "mark_usage_of_api_key",
    """
        IF TG_OP = 'DELETE' OR NEW.scopes IS DISTINCT FROM OLD.scopes THEN
            INSERT INTO usage_marks (tenant_id) VALUES (OLD.tenant_id);
        ELSE
            INSERT INTO usage_marks (tenant_id, key_id)
            SELECT OLD.tenant_id, k.id FROM api_keys k
             WHERE k.tenant_id = OLD.tenant_id AND k.name IN (OLD.name, NEW.name);
        END IF;""",
)
# A book that is published explains quotes that were unknown; one that is withdrawn explains its own no longer.
_BOOKS = _build_function(
    "mark_usage_of_price_book",
    """
        IF OLD.published_at IS NOT NULL THEN
            INSERT INTO usage_marks (tenant_id, book_id) VALUES (OLD.tenant_id, OLD.id);
        END IF;
        IF TG_OP = 'UPDATE' AND NEW.published_at IS NOT NULL THEN
            INSERT INTO usage_marks (tenant_id, billing) VALUES (NEW.tenant_id, 'unknown_quote');
        END IF;""",
)
_PRICES = _build_function(
    "mark_usage_of_prices",
    _on_old_and_new(
        "SELECT DISTINCT r.tenant_id, r.book_id FROM {rows} r JOIN price_books b ON b.id = r.book_id "
        "WHERE b.published_at IS NOT NULL",
        "tenant_id, book_id",
    ),
)
# From now on they are on no statement of a later month, whichever key logs them.
_SEALED = _build_function(
    "mark_usage_of_sealed_transfers",
    """
        INSERT INTO usage_marks (tenant_id, unit)
        SELECT DISTINCT n.tenant_id, n.transfer_id FROM new_rows n
          JOIN usage_transfers u ON u.tenant_id = n.tenant_id AND u.unit = n.transfer_id AND u.month > n.month;""",
)

FUNCTIONS = {
    "mark_usage_of_logs": _LOGS,
    "mark_usage_of_quotes": _QUOTES,
    "mark_usage_of_transfer": _TRANSFERS,
    "mark_usage_of_customer_keys": _CUSTOMER_KEYS,
    "mark_usage_of_api_key": _KEYS,
    "mark_usage_of_price_book": _BOOKS,
    "mark_usage_of_prices": _PRICES,
    "mark_usage_of_sealed_transfers": _SEALED,
}

_STATEMENTS = {
    "INSERT": ("usage_added", "REFERENCING NEW TABLE AS new_rows"),
    "UPDATE": ("usage_changed", "REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows"),
    "DELETE": ("usage_removed", "REFERENCING OLD TABLE AS old_rows"),
}
_BY_STATEMENT = {
    "transfer_logs": ("mark_usage_of_logs", tuple(_STATEMENTS)),
    "quotes": ("mark_usage_of_quotes", tuple(_STATEMENTS)),
    "customer_keys": ("mark_usage_of_customer_keys", tuple(_STATEMENTS)),
    "prices": ("mark_usage_of_prices", tuple(_STATEMENTS)),
    "sealed_transfers": ("mark_usage_of_sealed_transfers", ("INSERT",)),
}


def _by_row(name: str, event: str, table: str, when: str, function: str) -> str:
    condition = f"WHEN ({when}) " if when else ""
    return f"CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {condition}EXECUTE FUNCTION {function}()"


def _differ(*columns: str) -> str:
    new, old = (", ".join(f"{row}.{column}" for column in columns) for row in ("NEW", "OLD"))
    return f"({new}) IS DISTINCT FROM ({old})"


_JUDGED, _OF_KEY, _OF_BOOK = (
    ("agreement_kept", "expected", "enquiry"),
    ("name", "scopes", "revoked_at"),
    ("published_at", "currency", "energy_basis"),
)

TRIGGERS = {
    **{
        (_STATEMENTS[event][0], table): (
            f"CREATE TRIGGER {_STATEMENTS[event][0]} AFTER {event} ON {table} {_STATEMENTS[event][1]} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
        for table, (function, events) in _BY_STATEMENT.items()
        for event in events
    },
    **{
        (name, table): _by_row(name, event, table, when, function)
        for name, event, table, when, function in (
            ("usage_added", "INSERT", "transfers", "", "mark_usage_of_transfer"),
            (
                "usage_changed",
                f"UPDATE OF {', '.join(_JUDGED)}",
                "transfers",
                _differ(*_JUDGED),
                "mark_usage_of_transfer",
            ),
            ("usage_removed", "DELETE", "transfers", "", "mark_usage_of_transfer"),
            (
                "usage_changed",
                f"UPDATE OF {', '.join(_OF_KEY)}",
                "api_keys",
                _differ(*_OF_KEY),
                "mark_usage_of_api_key",
            ),
            ("usage_removed", "DELETE", "api_keys", "", "mark_usage_of_api_key"),
            (
                "usage_changed",
                f"UPDATE OF {', '.join(_OF_BOOK)}",
                "price_books",
                _differ(*_OF_BOOK),
                "mark_usage_of_price_book",
            ),
            ("usage_removed", "DELETE", "price_books", "", "mark_usage_of_price_book"),
        )
    },
}
"""By name and table."""
