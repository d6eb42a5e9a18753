"""The models of compressed transfers as they were published, equations 1 to 22: a reference to compare with.

Notation
--------
us_bytes   US, size of the uncompressed file
setup_s    T.SC, start-up and control time of a transfer
line_bps   Th.UP or Th.DW, rate of the path for a long file
ratio      CR, uncompressed over compressed size
coder_bps  Th.C of an upload, Th.D of a download: plain bits a second that the codec takes or gives

The paper has megabytes and megabytes a second; here sizes are bytes and rates bit/s, hence the factor 8. Upload and
download have the same form: 1, 3, 5, 7 to 12, 19 and 20 are of the upload, 2, 4, 13 to 18, 21 and 22 of the download.
Equations 19 to 22 are approximations that may promise more than the codec delivers: `tradewind.compression.model` does
not.
"""

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE


def compute_uncompressed_s(us_bytes: float, line_bps: float, setup_s: float) -> float:
    """T.UUP = T.SC + US/Th.UP (equations 1, 2)."""
    return setup_s + BITS_PER_BYTE * us_bytes / line_bps


def compute_uncompressed_bps(us_bytes: float, line_bps: float, setup_s: float) -> float:
    """Th.UUP = Th.UP/(1 + Th.UP·T.SC/US) (equations 3, 4)."""
    return line_bps / (1 + line_bps * setup_s / (BITS_PER_BYTE * us_bytes))


def compute_line_bps(us_bytes: float, reached_bps: float, setup_s: float) -> float:
    """Th.UP = Th.UUP/(1 − Th.UUP·T.SC/US) (equation 5).

    Raises
    ------
    InvalidValue : the entire transfer took no longer than its start-up.
    """
    share = reached_bps * setup_s / (BITS_PER_BYTE * us_bytes)
    if share >= 1:
        raise InvalidValue("setup_s", "is longer than the whole transfer")
    return reached_bps / (1 - share)


def compute_sequential_s(us_bytes: float, line_bps: float, setup_s: float, ratio: float, coder_bps: float) -> float:
    """T.CUP.max = T.C + T.SC + T.CUP′ (equations 7, 13): pack all, then send all."""
    return BITS_PER_BYTE * us_bytes / coder_bps + compute_overlapped_s(us_bytes, line_bps, setup_s, ratio)


def compute_overlapped_s(us_bytes: float, line_bps: float, setup_s: float, ratio: float) -> float:
    """T.CUP.min = T.SC + US/(CR·Th.UP) (equations 8, 14): packing costs no time."""
    return setup_s + BITS_PER_BYTE * us_bytes / (ratio * line_bps)


def compute_lower_bound_bps(us_bytes: float, line_bps: float, setup_s: float, ratio: float, coder_bps: float) -> float:
    """Th.CUP.min = CR·Th.UP/(1 + Th.UP·CR·(1/Th.C + T.SC/US)) (equations 9, 11, 15, 17)."""
    full_bps = ratio * line_bps
    return full_bps / (1 + full_bps * (1 / coder_bps + setup_s / (BITS_PER_BYTE * us_bytes)))


def compute_upper_bound_bps(us_bytes: float, line_bps: float, setup_s: float, ratio: float) -> float:
    """Th.CUP.max = CR·Th.UP/(1 + Th.UP·CR·T.SC/US) (equations 10, 12, 16, 18)."""
    full_bps = ratio * line_bps
    return full_bps / (1 + full_bps * setup_s / (BITS_PER_BYTE * us_bytes))


def compute_overlap_factor(line_bps: float, coder_bps: float) -> float:
    """k.th.c = Th.UP/Th.C where Th.C > Th.UP, else 1 (equations 19, 21; equal rates, left open, have the limit 1)."""
    return line_bps / coder_bps if coder_bps > line_bps else 1.0


def compute_piped_bps(us_bytes: float, line_bps: float, setup_s: float, ratio: float, coder_bps: float) -> float:
    """Th.CUP.pipe ≈ CR·Th.UP/(1 + CR·Th.UP·(T.SC/US + k.th.c/Th.C)) (equations 20, 22).

    The stages balance at Th.C = CR·Th.UP, not at Th.C = Th.UP as k has it: between these it may exceed Th.C.
    """
    full_bps = ratio * line_bps
    factor = compute_overlap_factor(line_bps, coder_bps)
    return full_bps / (1 + full_bps * (setup_s / (BITS_PER_BYTE * us_bytes) + factor / coder_bps))
