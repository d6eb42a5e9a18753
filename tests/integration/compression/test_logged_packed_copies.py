"""Packed copies are logged, metered and refused like any other copy."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.agent.support.faulty_service import faulty_service
from tests.integration.serve_files.serving import serving
from tradewind.compression.codecs import parse_setting
from tradewind.compression.content import Kind
from tradewind.wire.compression import WireObservation, WireSpeeds
from tradewind.wire.records import parse_row
from tradewind_agent.compression.sampling import read_cpu_class
from tradewind_agent.errors import ServiceProblem, ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.serve import Server
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.logbook import Logbook

PLAIN = b"".join(b"%d,%d,%.3f\n" % (row, row * row % 977, (row % 50) / 7) for row in range(30_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "a.csv").write_bytes(PLAIN)
    with serving(folder, writable=True) as running:
        yield running


def test_a_packed_copy_leaves_a_record_with_its_codec_and_energy(server: Server, tmp_path: Path) -> None:
    env = environment(tmp_path, TRADEWIND_SPOOL=str(tmp_path / "spool"))
    ends = ("--source", "alpha", "--destination", "beta", "--network", "wan", "--bandwidth", "1Gbps")
    done = run(
        *("copy", "--compress", "zstd:3", "--concurrency", "1", *ends, "--json"),
        *(f"{server.url}a.csv", str(tmp_path / "a.csv")),
        env=env,
    )
    assert done.code == 0, done.err
    (segment,) = (tmp_path / "spool").glob("*.ndjson")
    record, of_chunk = (parse_row(row).to_record() for row in segment.read_bytes().splitlines())
    assert (record.chunk, of_chunk.chunk) == ("whole", "large")
    assert of_chunk.parameters.codec == "zstd:3"
    assert (record.source, record.destination, record.network) == ("alpha", "beta", "wan")
    assert record.mover.name == "tradewind-packed"
    assert (record.parameters.codec, record.parameters.concurrency) == ("zstd:3", 1)
    assert record.outcome.bytes_moved == len(PLAIN)
    assert record.energy
    assert done.document["used"] == {"zstd:3": len(PLAIN)}
    assert done.document["log"] == "spooled until `tradewind login`"


def test_codec_observations_wait_for_service_like_logs(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(PLAIN)
    spool = tmp_path / "spool"
    env = environment(tmp_path, TRADEWIND_SPOOL=str(spool))
    done = run("copy", "--compress", "gzip:1", str(tmp_path / "b.csv"), f"{server.url}b.csv", env=env)
    assert done.code == 0, done.err
    logbook = Logbook(spool=Spool(spool, warn=print))
    (kept,) = logbook.observations.list_waiting()
    (seen,) = json.loads(kept.read_bytes())["observations"]
    assert (seen["codec"], seen["level"], seen["file_bytes"]) == ("gzip", 1, len(PLAIN))
    with faulty_service() as service, Client(service.url, "key", retries=NO_RETRIES) as client:
        logbook.observations.drain(client)
        assert service.observations == [seen]
    assert logbook.observations.list_waiting() == ()


def store_observations(spool: Path, settings: Sequence[str]) -> Logbook:
    """A logbook in which one copy waits that has seen these settings."""
    logbook = Logbook(spool=Spool(spool, warn=print))
    speeds = WireSpeeds(ratio=3, compress_bps=1e9, decompress_bps=4e9)
    seen = [
        WireObservation(
            id=uuid4(),
            seen_at=datetime.now(UTC),
            codec=setting.codec,
            level=setting.level,
            file_bytes=10**6,
            kind=Kind.TABLE,
            cpu_class=read_cpu_class(),
            probe=speeds,
            speeds=speeds,
        )
        for setting in map(parse_setting, settings)
    ]
    logbook.observations.store(uuid4(), seen)
    return logbook


REFUSED = {"errors": [{"field": "observations.1.level", "reason": "is not known here"}]}


def test_refused_observation_does_not_lose_others(tmp_path: Path) -> None:
    logbook = store_observations(tmp_path, ["gzip:1", "zstd:19", "xz:6"])
    with faulty_service() as service, Client(service.url, "key", retries=NO_RETRIES) as client:
        service.faults.append((422, {}, REFUSED))
        told: list[str] = []
        logbook.observations.drain(client, on_given_up=told.append)
        assert [each["codec"] for each in service.observations] == ["gzip", "xz"]
    assert told == ["the service refused 1 observation of codecs: is not known here"]
    assert logbook.observations.list_waiting() == ()


@pytest.mark.parametrize("named", [{}, {"errors": [{"field": "observations.9.level", "reason": "is not known here"}]}])
def test_observations_of_which_none_is_named_are_given_up_together(tmp_path: Path, named: dict[str, object]) -> None:
    logbook = store_observations(tmp_path, ["gzip:1", "xz:6"])
    with faulty_service() as service, Client(service.url, "key", retries=NO_RETRIES) as client:
        service.faults.append((400, {}, named))
        told: list[str] = []
        logbook.observations.drain(client, on_given_up=told.append)
        assert service.observations == []
    assert told[0].startswith("the service refused 2 observations of codecs: ")
    assert logbook.observations.list_waiting() == ()


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_observations_wait_while_the_service_can_say_nothing_of_them(tmp_path: Path, status: int) -> None:
    logbook = store_observations(tmp_path, ["gzip:1"])
    with faulty_service() as service, Client(service.url, "key", retries=NO_RETRIES) as client:
        service.faults.append((status, {}))
        with pytest.raises((ServiceUnreachable, ServiceProblem)):
            logbook.observations.drain(client)
        assert len(logbook.observations.list_waiting()) == 1
        logbook.observations.drain(client)
        assert len(service.observations) == 1


def test_damaged_observation_file_is_dropped_and_reported(tmp_path: Path) -> None:
    logbook = store_observations(tmp_path, ["gzip:1"])
    (path,) = logbook.observations.list_waiting()
    path.write_bytes(path.read_bytes()[:-10])
    with faulty_service() as service, Client(service.url, "key", retries=NO_RETRIES) as client:
        told: list[str] = []
        logbook.observations.drain(client, on_given_up=told.append)
    assert told == [f"{path.name} was damaged on disk"]
    assert logbook.observations.list_waiting() == ()


def test_server_reports_sample_of_file_fetched_with_fixed_codec(server: Server, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    env = environment(tmp_path, TRADEWIND_SPOOL=str(spool))
    done = run("copy", "--compress", "zstd:1", f"{server.url}a.csv", str(tmp_path / "c.csv"), env=env)
    assert done.code == 0, done.err
    (kept,) = Logbook(spool=Spool(spool, warn=print)).observations.list_waiting()
    (seen,) = json.loads(kept.read_bytes())["observations"]
    assert (seen["codec"], seen["cpu_class"], seen["file_bytes"]) == ("zstd", read_cpu_class(), len(PLAIN))
