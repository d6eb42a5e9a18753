import math
from itertools import pairwise
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from services.application.models.learned_model import IndexedModel
from services.application.recommend.neighbours import MAX_DISTANCE, NEIGHBOURS, Neighbourhood, locate
from tests.unit.application.recommend.models import PATH, leaf_model
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import LinkKey

LEAF = leaf_model(300, 100_000).leaf
MEAN_BYTES = 2.0**LEAF.log2_mean_file_bytes

paths = st.builds(
    Path,
    bandwidth_bps=st.sampled_from([1e8, 2e8, 3e8]) | st.floats(1e7, 1e9),
    rtt_s=st.sampled_from([0.05, 0.1]) | st.floats(1e-3, 0.3),
)


def indexed(n: int, path: Path, *powered: bool) -> tuple[LinkKey, IndexedModel]:
    return LinkKey("origin", f"end{n}", None, "tradewind"), IndexedModel(
        UUID(int=n), path, (LEAF,) * len(powered), powered, UUID(int=n)
    )


@given(st.lists(st.tuples(paths, st.lists(st.booleans(), min_size=1, max_size=3)), max_size=30), paths, st.booleans())
def test_search_finds_the_same_leaves_as_a_full_scan(links, path, powered):
    models = [indexed(n, there, *metered) for n, (there, metered) in enumerate(links)]
    here = locate(path, MEAN_BYTES)
    found = Neighbourhood(models).find_nearest(here, powered=powered)
    suitable = sorted(
        math.dist(here, locate(there, MEAN_BYTES)) for there, metered in links for one in metered if one or not powered
    )
    assert [each.distance for each in found] == [each for each in suitable if each <= MAX_DISTANCE][:NEIGHBOURS]
    assert len({(each.link, each.ordinal) for each in found}) == len(found)
    assert all(each.model.powered[each.ordinal] or not powered for each in found)
    assert all(nearer.distance <= farther.distance for nearer, farther in pairwise(found))


def test_link_of_unknown_path_is_no_neighbour():
    here = locate(PATH, MEAN_BYTES)
    assert Neighbourhood([indexed(1, UNKNOWN_PATH, True)]).find_nearest(here, powered=False) == []
    assert Neighbourhood([]).find_nearest(here, powered=False) == []
