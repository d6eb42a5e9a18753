"""Lines that say when their transfer ran are known by what they say, and equal ones by their order.

The same transfer then has the same id in every log that holds its line: in an export that overlaps an earlier one, in
a log that was rotated by copying, or in a file and a part of it.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from tradewind_agent.history.importers.reading.lines import Line

NEAR_LINES = 1000
"""Lines among which equal ones are of several transfers; those farther apart are the same line in two exports."""


def count_repeats(lines: Iterable[Line], before: Iterable[str] = ()) -> Iterator[Line]:
    """Yield lines with the number of equal ones that stand shortly before each.

    Parameters
    ----------
    before : texts of the lines before a part that is read on from an offset.
    """
    near = deque((hash(text) for text in before), maxlen=NEAR_LINES)
    counts: dict[int, int] = dict(Counter(near))
    for number, text, fault, origin, _ in lines:
        key = hash(text)
        if len(near) == NEAR_LINES:
            oldest = near.popleft()
            if counts[oldest] == 1:
                del counts[oldest]
            else:
                counts[oldest] -= 1
        repeats = counts.get(key, 0)
        near.append(key)
        counts[key] = repeats + 1
        yield Line(number, text, fault, origin, repeats)
