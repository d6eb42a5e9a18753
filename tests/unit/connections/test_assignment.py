"""Which object came over which connection, against the rule in plain words."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.connections.assignment import assign_connections
from tradewind.connections.page_load import HttpVersion, WebObject

TIMES = st.integers(0, 8).map(float)  # so few that many are equal


@st.composite
def objects(draw: st.DrawFn) -> WebObject:
    started_s = draw(TIMES)
    sent_s = started_s + draw(TIMES)
    received = draw(st.none() | st.tuples(TIMES, TIMES))
    return WebObject(
        origin=draw(st.sampled_from(["https://a.org:443", "https://b.org:443"])),
        encrypted=True,
        version=draw(st.sampled_from([HttpVersion.HTTP_1, HttpVersion.HTTP_2])),
        started_s=started_s,
        sent_s=sent_s,
        receive=None if received is None else (sent_s + received[0], sent_s + sum(received)),
        wire_bytes=draw(st.integers(0, 9)),
        opens=draw(st.booleans()),
        connection_id=draw(st.sampled_from([None, None, None, "7"])),
    )


class Connection:
    def __init__(self, first: WebObject) -> None:
        self.objects = [first]

    @property
    def idle_from_s(self) -> float:
        return max(each.receive[1] if each.receive else each.sent_s for each in self.objects)


def assign_plainly(group: list[WebObject]) -> list[Connection]:
    """The rule, looking at every connection for every object."""
    found: list[Connection] = []
    for each in group:
        idle = [one for one in found if one.idle_from_s <= each.sent_s]
        if each.opens or not found:
            chosen = None
        elif each.version.multiplexes:
            chosen = found[-1]
        elif idle:
            chosen = max(idle, key=lambda one: one.idle_from_s)
        else:
            waits = any(other.opens for other in group)
            chosen = min(found, key=lambda one: one.idle_from_s) if waits else None
        if chosen is None:
            found.append(Connection(each))
        else:
            chosen.objects.append(each)
    return found


@given(st.lists(objects(), max_size=30))
def test_objects_are_given_to_connections_as_the_rule_says(made):
    named = [each for each in made if each.connection_id is not None]
    nameless: dict[tuple[str, HttpVersion], list[WebObject]] = {}
    for each in sorted(made, key=lambda each: each.started_s):
        if each.connection_id is None:
            nameless.setdefault((each.origin, each.version), []).append(each)
    expected = [one.objects for group in nameless.values() for one in assign_plainly(group)]
    expected += [sorted(named, key=lambda each: each.started_s)] if named else []
    found = [list(each.objects) for each in assign_connections(made)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
