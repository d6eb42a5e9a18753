"""Load of a link from its recent transfers: how far they fell short of their own surface.

The residual that a row leaves contains its own throughput, so it must never become that row's input: the load of a
row comes from rows that started strictly before it, and only from rows that may be learned from.
"""

import numpy as np

from tradewind.learning.observations import Floats

WINDOW = 5
"""Rows whose median is taken: one outlier or two do not move it."""

MAX_LOAD = 0.95
FREE_PATH = 0.95
"""Quantile of the recent residuals that stands for a path without load."""


def compute_recent_residual(residual: Floats, started_s: Floats, at_s: Floats, window: int = WINDOW) -> Floats:
    """Return the median residual of the last ``window`` rows that started strictly before each time.

    Parameters
    ----------
    residual, started_s : (n,) log residuals of rows that may be learned from, in any order.
    at_s : (r,) times asked for.

    Returns
    -------
    (r,), NaN before the first row.
    """
    order = np.argsort(started_s, kind="stable")
    padded = np.concatenate([np.full(window, np.nan), residual[order]])
    before = np.searchsorted(started_s[order], at_s, side="left")
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)[before]
    recent = np.full(len(at_s), np.nan)
    recent[before > 0] = np.nanmedian(windows[before > 0], axis=1)
    return recent


def estimate_free_residual(recent: Floats) -> float:
    """Return the recent residual (n,) of a path without load; 0 if none is known."""
    known = recent[np.isfinite(recent)]
    return float(np.quantile(known, FREE_PATH)) if len(known) else 0.0


def compute_load_of_residual(recent: Floats, free: float) -> Floats:
    """ℓ = 1 − exp(recent − free), the share of the rate that others took, within 0..0.95; NaN stays."""
    return np.clip(-np.expm1(recent - free), 0.0, MAX_LOAD)
