"""What packed copies move."""

import random

_SIGNS = b"0123456789\n"
_SIGN_OF_BYTE = bytes(_SIGNS[value % len(_SIGNS)] for value in range(256))


def digits(count: int) -> bytes:
    """Digits in lines, the same in each process: every codec makes less than half of them."""
    return random.Random(2).randbytes(count).translate(_SIGN_OF_BYTE)
