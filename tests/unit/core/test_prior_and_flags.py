import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.flags import list_flags_by_tool
from tradewind.parameters import Caps, Parameters
from tradewind.path import Path
from tradewind.units import MIB
from tradewind.unknown_path import prior

PATH = Path(bandwidth_bps=1e8, rtt_s=0.06, loss_rate=2e-4)
HTML = DataSet(file_count=300, total_bytes=30_000_000)
VIDEO = DataSet(file_count=3, total_bytes=135_000_000)


def rate(dataset: DataSet, cc: int, p: int, pp: int, load: float = 0.0) -> float:
    return prior.predict_throughput_bps(PATH, dataset, Parameters(concurrency=cc, parallelism=p, pipelining=pp), load)


def test_a_lossy_stream_is_held_by_mathis_and_a_clean_one_by_its_window():
    assert prior.compute_stream_rate_bps(PATH) == pytest.approx(16.5e6, rel=0.01)
    assert prior.compute_stream_rate_bps(Path(rtt_s=0.1, buffer_bytes=125_000)) == pytest.approx(10e6)
    assert prior.compute_stream_rate_bps(Path(bandwidth_bps=1e8)) == math.inf


def test_small_files_gain_from_concurrency_and_pipelining_large_ones_from_parallelism():
    assert rate(HTML, 4, 1, 1) > 3 * rate(HTML, 1, 1, 1)
    assert rate(HTML, 1, 1, 8) > 1.5 * rate(HTML, 1, 1, 1)
    assert rate(VIDEO, 1, 4, 1) > 3 * rate(VIDEO, 1, 1, 1)
    assert rate(VIDEO, 1, 1, 8) == pytest.approx(rate(VIDEO, 1, 1, 1), rel=0.02)


@given(
    st.integers(min_value=1, max_value=64),
    st.integers(min_value=1, max_value=16),
    st.integers(min_value=1, max_value=64),
    st.floats(min_value=0, max_value=0.95),
)
def test_the_prior_never_exceeds_what_the_pipe_has_left(cc, p, pp, load):
    assert 0 < rate(HTML, cc, p, pp, load) <= 1e8 * (1 - load)


def test_no_more_files_than_there_are_run_at_once():
    assert rate(VIDEO, 64, 1, 1) == rate(VIDEO, 3, 1, 1)


def test_a_path_of_which_nothing_is_known_is_refused():
    with pytest.raises(InvalidValue, match="nothing is known"):
        prior.predict_throughput_bps(Path(), HTML, Parameters())


def test_the_prior_table_keeps_to_its_caps_and_certifies_nothing():
    table = prior.build_table(PATH, HTML, Caps(streams=8))
    assert table.settings
    assert all(entry.parameters.streams <= 8 for entry in table.settings)
    assert not any(entry.certified for entry in table.settings)


def test_flags_say_what_each_tool_can_and_what_it_cannot():
    flags, left_out = list_flags_by_tool(
        Parameters(concurrency=8, parallelism=20, pipelining=4, io_block_bytes=262_144)
    )
    assert flags["rclone"] == "--transfers 8 --multi-thread-streams 20 --multi-thread-cutoff 1M"
    assert "-j8 -s16 -x16" in flags["aria2"]
    assert flags["curl"] == "-Z --parallel-max 8"
    assert flags["globus-url-copy"] == "-cc 8 -p 20 -pp -bs 262144"
    of_stores = {"aws", "s5cmd", "gcloud"}
    assert {phrase.split(":")[0] for phrase in left_out} == {"rclone", "aria2", "curl", "globus-url-copy", *of_stores}
    no_block = {phrase.split(":")[0] for phrase in left_out if "I/O" in phrase}
    assert no_block == {"rclone", "aria2", "curl", *of_stores}


def test_tools_of_object_stores_get_requests_at_once_and_parts():
    flags, left_out = list_flags_by_tool(Parameters(concurrency=3, parallelism=2, part_bytes=16 * MIB))
    assert left_out == ("curl: one stream a file",)
    assert flags["aws"] == (
        "aws configure set default.s3.max_concurrent_requests 6 && "
        "aws configure set default.s3.multipart_threshold 16777216 && "
        "aws configure set default.s3.multipart_chunksize 16777216"
    )
    assert flags["s5cmd"] == "--numworkers 3 cp --concurrency 2 --part-size 16"
    assert flags["gcloud"].split() == [
        "CLOUDSDK_STORAGE_PROCESS_COUNT=2",
        "CLOUDSDK_STORAGE_THREAD_COUNT=3",
        "CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_MAX_COMPONENTS=2",
        "CLOUDSDK_STORAGE_SLICED_OBJECT_DOWNLOAD_COMPONENT_SIZE=16777216",
        "CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_COMPONENT_SIZE=16777216",
    ]
    assert flags["rclone"].endswith("--s3-chunk-size 16777216B --s3-upload-concurrency 2")
    plain, _ = list_flags_by_tool(Parameters(concurrency=3, parallelism=2))
    assert "s3-" not in plain["rclone"]
    assert plain["s5cmd"] == "--numworkers 3 cp --concurrency 2"


def test_part_that_stores_refuse_is_made_as_large_as_they_require():
    flags, _ = list_flags_by_tool(Parameters(concurrency=1, parallelism=1, part_bytes=MIB))
    assert flags["s5cmd"].endswith("--part-size 5")
    assert "multipart_chunksize 5242880" in flags["aws"]
    assert "--s3-chunk-size 5242880B" in flags["rclone"]


def test_a_single_stream_leaves_nothing_out():
    flags, left_out = list_flags_by_tool(Parameters(concurrency=2, parallelism=1, pipelining=1))
    assert left_out == ()
    assert "--multi-thread-streams 0" in flags["rclone"]
