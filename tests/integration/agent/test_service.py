"""The client against the real service."""

from operator import attrgetter

import pytest

from services.application.access.authenticate import Scope
from tests.integration.agent.support.command import environment, run
from tests.integration.serve_files.serving import serving
from tests.unit.agent.records import lines, record, records
from tradewind.recommendation import AnswerSource
from tradewind.sla.kinds import SlaKind
from tradewind.wire.inventory import EndpointChange, KnownPair, NewEndpoint, NewKey
from tradewind.wire.recommendations import RecommendRequest, WireSla, WireWorkload
from tradewind.wire.records import WirePath
from tradewind_agent.errors import ConflictRefused, KeyRefused, ObjectNotFound, ScopeMissing
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.batches import MAX_BATCH_ROWS
from tradewind_agent.service.client import Client


@pytest.fixture
def client(api, tenant):
    with Client(api, tenant.secret) as opened:
        yield opened


def test_uploaded_logs_are_stored_once_however_often_they_are_sent(client):
    first = client.upload_logs(records(30))
    again = client.upload_logs(records(30))
    assert (first.accepted, first.rejected) == (30, 0)
    assert again.receipts[0].duplicate
    assert again.receipts[0].batch_id == first.receipts[0].batch_id
    assert client.batch(first.receipts[0].batch_id).accepted == 30
    (link,) = client.inventory.links()
    assert (link.source, link.destination, link.mover, link.rows) == ("alpha", "beta", "tradewind", 30)


def test_bad_rows_are_named(client):
    report = client.upload_logs([*lines(2), b'{"id": 1}'])
    assert (report.accepted, report.rejected) == (2, 1)
    assert report.receipts[0].rejections[0].row == 3


def test_a_batch_without_a_valid_row_has_a_receipt_and_the_rest_of_the_upload_goes_on(client):
    report = client.upload_logs([*[b'{"id": 1}'] * MAX_BATCH_ROWS, *lines(2)])
    assert (report.accepted, report.rejected) == (2, MAX_BATCH_ROWS)
    bad, good = report.receipts
    assert (bad.accepted, bad.rejected, good.accepted) == (0, MAX_BATCH_ROWS, 2)
    assert bad.rejections[0].row == 1
    kept = client.batch(bad.batch_id)
    assert (kept.rejected, kept.rejections[0]) == (MAX_BATCH_ROWS, bad.rejections[0])
    assert client.upload_logs([b'{"id": 1}'] * MAX_BATCH_ROWS).receipts[0].batch_id == bad.batch_id


def test_a_key_used_for_other_content_is_a_contradiction(client):
    client.upload_logs([record(1)], idempotency_key="mine")
    with pytest.raises(ConflictRefused):
        client.upload_logs([record(2)], idempotency_key="mine")


def test_a_spool_is_drained_into_the_service(client, tmp_path):
    spool = Spool(tmp_path / "spool", warn=lambda _: None)
    for number in range(1, 4):
        spool.append(records(2, 2 * number))
    assert spool.drain(client).accepted == 6
    assert spool.list_segments() == ()
    assert client.inventory.links()[0].rows == 6


def test_a_refused_batch_does_not_hold_up_the_spool(client, tmp_path):
    spool = Spool(tmp_path / "spool", warn=lambda _: None)
    spool.append([b'{"id": 1}'])
    spool.append(records(2))
    drained = spool.drain(client)
    assert drained.accepted == 2
    (refused,) = drained.refused
    assert "the service accepted none of 1 row; first " in refused
    assert spool.read_state().refused_segments == 1


def test_keys_are_made_used_and_revoked(api, client):
    created = client.inventory.create_key(NewKey(name="night", scopes=("agent",)))
    with Client(api, created.secret) as night:
        assert night.scopes() == ("agent",)
        assert night.upload_logs([record(1)]).accepted == 1
        with pytest.raises(ScopeMissing, match="operator"):
            night.inventory.keys()
        client.inventory.revoke_key(created.id)
        with pytest.raises(KeyRefused, match="tradewind login"):
            night.inventory.links()
    assert set(map(attrgetter("name"), client.inventory.keys())) == {"first", "night"}


def test_scopes_are_reported_without_changing_anything(api, tenant, client):
    assert client.scopes() == ("agent", "provider", "analyst", "operator")
    with Client(api, tenant.key(Scope.ANALYST)) as analyst:
        assert analyst.scopes() == ("analyst",)
    assert client.inventory.endpoints() == ()
    assert client.inventory.links() == ()


def test_endpoints_are_made_and_changed(client):
    made = client.inventory.create_endpoint(NewEndpoint(name="alpha", aliases=("alpha.example.org",)))
    pair = KnownPair(destination="beta", bandwidth_bps=1e9, rtt_s=0.06)
    client.inventory.change_endpoint(made.id, EndpointChange(known_pairs=(pair,)))
    endpoint = next(each for each in client.inventory.endpoints() if each.name == "alpha")
    assert endpoint.aliases == ("alpha.example.org",)
    assert endpoint.known_pairs == (pair,)


def test_a_path_without_history_gets_a_plan_that_says_so(client):
    answer = client.recommend(
        RecommendRequest(
            source="alpha",
            destination="beta",
            dataset=WireWorkload(file_count=100, total_bytes=10**9),
            sla=WireSla(kind=SlaKind.MAX_THROUGHPUT),
            path=WirePath(bandwidth_bps=1e9, rtt_s=0.06),
        )
    )
    assert answer.source is AnswerSource.HEURISTIC
    assert answer.chunks
    assert answer.predicted.throughput_bps.mean > 0


def test_missing_objects_raise_object_not_found(client, tenant):
    assert client.releases.page() == ()
    for call in (client.batch, client.inventory.clusters, client.inventory.surface):
        with pytest.raises(ObjectNotFound):
            call(tenant.id)
    with pytest.raises(ObjectNotFound):
        client.releases.roll_back(1)


def test_the_service_reports_the_time(client):
    assert client.healthy() is not None


def test_a_copy_is_logged_in_the_service(api, tenant, client, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "file").write_bytes(b"x" * 100_000)
    env = environment(tmp_path / "home")
    login = run("login", api, "--key", "-", env=env, stdin=tenant.secret.encode())
    assert login.code == 0, login.err
    names = ("--source", "alpha", "--destination", "beta", "--network", "wan")
    with serving(tmp_path / "source") as origin:
        copied = run("copy", origin.url, str(tmp_path / "copy"), *names, "--json", env=env)
    assert copied.code == 0, copied.err
    assert copied.document["log"] == "uploaded"
    assert copied.document["plan"]["source"] == "heuristic"
    assert "no service" not in copied.document["plan"]["rationale"]
    (link,) = client.inventory.links()
    assert (link.source, link.destination, link.network, link.mover) == ("alpha", "beta", "wan", "tradewind")
    doctor = run("doctor", "--json", env=env)
    told = {finding["subject"]: finding for finding in doctor.document["findings"]}
    assert {told[subject]["health"] for subject in ("service", "clock", "key", "scopes", "spool")} == {"good"}


def test_a_log_uploaded_again_with_a_corrected_end_feeds_the_right_link(api, tenant, tmp_path):
    log = tmp_path / "history.csv"
    log.write_text("file size (B),concurrency,bandwidth (Mbps),throughput (Mbps)\n1000000,4,100,80\n1000000,8,100,90\n")
    env = environment(tmp_path / "home", TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    wrong, right, again = (
        run("logs", "upload", str(log), "--source", "alpha", "--destination", end, "--json", env=env)
        for end in ("gamma", "beta", "beta")
    )
    assert (wrong.code, right.code, again.code) == (0, 0, 0)
    assert (right.document["accepted"], right.document["rejected"]) == (2, 0)
    assert again.document["batches"] == right.document["batches"]
    with Client(api, tenant.secret) as client:
        assert sorted((link.destination, link.rows) for link in client.inventory.links()) == [("beta", 2), ("gamma", 2)]


def test_an_upload_of_what_is_there_already_is_no_failure(api, tenant, tmp_path):
    log = tmp_path / "log.ndjson"
    env = environment(tmp_path / "home", TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    log.write_bytes(b"".join(lines(3)))
    assert run("logs", "upload", str(log), env=env).code == 0
    log.write_bytes(b"".join(lines(2)))
    outcome = run("logs", "upload", str(log), env=env)
    assert outcome.code == 0, outcome.out
    assert "rejected 2 (rows 1, 2 of the upload): id: is already stored" in outcome.out
