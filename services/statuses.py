"""The HTTP status and title of each error: the one table, for the API and the pages."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from tradewind import errors

STATUS: Mapping[type[errors.TradewindError], tuple[HTTPStatus, str]] = MappingProxyType(
    {
        errors.NameTaken: (HTTPStatus.CONFLICT, "Conflict"),
        errors.InvalidValue: (HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid value"),
        errors.Unauthenticated: (HTTPStatus.UNAUTHORIZED, "Not authenticated"),
        errors.NotPermitted: (HTTPStatus.FORBIDDEN, "Not permitted"),
        errors.SpendingLimitReached: (HTTPStatus.PAYMENT_REQUIRED, "Spending limit reached"),
        errors.NotFound: (HTTPStatus.NOT_FOUND, "Not found"),
        errors.Conflict: (HTTPStatus.CONFLICT, "Conflict"),
        errors.TooLarge: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too large"),
        errors.TooOften: (HTTPStatus.TOO_MANY_REQUESTS, "Too many calls"),
        errors.TooManyLive: (HTTPStatus.TOO_MANY_REQUESTS, "Too many live transfers"),
        errors.QueryRefused: (HTTPStatus.UNPROCESSABLE_ENTITY, "Query refused"),
        errors.CannotFit: (HTTPStatus.UNPROCESSABLE_ENTITY, "Cannot fit"),
        errors.TooManyAttempts: (HTTPStatus.TOO_MANY_REQUESTS, "Too many failed sign-ins"),
        errors.Unavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "Unavailable for now"),
    }
)


def find_status(error: errors.TradewindError) -> tuple[HTTPStatus, str]:
    """Return the status and the title of an error, which may be of a subclass of one in the table."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
