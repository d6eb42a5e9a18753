"""How far a data set may be from those in a link's logs to be answered from them."""

from tests.unit.application.recommend.models import leaf_model, snapshot
from tests.unit.application.recommend.requests import answer, enquiry
from tradewind.recommendation import AnswerSource


def test_data_set_far_from_all_history_counts_as_unknown():
    made = answer(enquiry(count=2, mean=1_000)).recommendation
    assert made.source is not AnswerSource.RELEASE
    assert "doublings away from the nearest in the logs of this path" in made.rationale


def test_files_longer_than_any_in_the_logs_are_like_the_longest_where_those_fill_the_path_too():
    far, known = (answer(enquiry(count=16, mean=mean)).recommendation for mean in (50_000_000_000, 40_000_000))
    assert far.source is AnswerSource.RELEASE
    assert far.nearest_data_distance == known.nearest_data_distance
    assert far.plan == known.plan


def test_files_longer_than_any_in_the_logs_are_unlike_them_where_those_are_short_for_the_path():
    pages = snapshot(leaf_model(300, 100_000))
    made = answer(enquiry(count=300, mean=50_000_000_000), pages).recommendation
    assert made.source is not AnswerSource.RELEASE
    assert "the data set is 7.4 doublings away" in made.rationale, "from 100 kB to the size that counts as large"
