"""Copies of a queue by the command line: they wait for one another, and what was saved is told."""

import json
import signal
from math import inf

import pytest

from tests.integration.agent.support.command import PATIENCE_S, run, start
from tests.integration.serve_files.serving import serving
from tradewind.mobile.catalogue import load_shipped_catalogue

TAIL_J = load_shipped_catalogue().find_device("galaxy-s5").find_radio("lte").compute_tail_energy_j(inf)


@pytest.fixture
def origin(tmp_path):
    source = tmp_path / "source"
    for name in ("photos", "notes"):
        (source / name).mkdir(parents=True)
        (source / name / "file").write_bytes(name.encode() * 50_000)
    with serving(source) as server:
        yield server


def queue_file(tmp_path, origin, *jobs):
    path = tmp_path / "queue"
    rows = [
        {"name": name, "sources": [f"{origin.url}{name}/"], "destination": str(tmp_path / name), "rate": "8Mbps"} | more
        for name, more in jobs
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def test_a_job_waits_for_the_next_one_and_the_tail_that_was_saved_is_reported(origin, tmp_path, env):
    queue = queue_file(tmp_path, origin, ("photos", {}), ("notes", {"not_before": "3s", "deadline": "1h"}))
    done = run("copy", "--batch", queue, "--radio", "lte", "--no-tune", "--quiet", "--json", env=env)
    assert done.code == 0, done.err
    first, second = done.document["jobs"]
    assert (first["name"], second["name"]) == ("photos", "notes")
    assert first["starts_s"] >= first["planned_starts_s"] > 0
    assert second["starts_s"] > 2  # of the three since the file was read
    assert second["in_time"] is True
    assert all(each["report"]["energy"] and each["report"]["usage"] for each in (first, second))
    assert (tmp_path / "notes" / "file").read_bytes() == b"notes" * 50_000
    assert done.document["planned"]["tails_saved"] == 1
    assert done.document["as_sent"]["saved_j"] > 0
    assert done.document["as_sent"]["tails_saved"] == 1
    assert "modelled" in done.document["energy_is"]


def test_jobs_that_leave_the_radio_half_idle_are_copied_at_once_and_one_that_fails_stops_no_other(
    origin, tmp_path, env
):
    queue = queue_file(tmp_path, origin, ("photos", {}), ("notes", {}))
    (tmp_path / "notes").write_text("in the way")
    done = run("copy", "--batch", queue, "--radio", "lte", "--radio-rate", "16Mbps", "--quiet", "--json", env=env)
    assert done.code == 1, done.err
    jobs = {each["name"]: each for each in done.document["jobs"]}
    assert [burst["mode"] for burst in done.document["planned"]["bursts"]] == ["concurrent"]
    assert (tmp_path / "photos" / "file").exists()
    assert jobs["photos"]["report"]["status"] == "succeeded"
    assert jobs["notes"]["failure"].endswith(f"cannot write {tmp_path}/notes/file: Not a directory")


def test_a_job_whose_files_cannot_be_listed_is_reported_and_the_others_are_sent(origin, tmp_path, env):
    gone = {"name": "gone", "sources": [str(tmp_path / "nowhere")], "destination": f"{origin.url}gone"}
    queue = queue_file(tmp_path, origin, ("photos", {}), ("gone", gone))
    planned = run("copy", "--batch", queue, "--radio", "lte", "--dry-run", env=env)
    assert (planned.code, "gone: not sent: " in planned.out) == (1, True)
    done = run("copy", "--batch", queue, "--radio", "lte", "--quiet", "--json", env=env)
    assert done.code == 1, done.err
    assert [each["report"]["status"] for each in done.document["jobs"]] == ["succeeded"]
    assert "does not exist" in done.document["not_planned"]["gone"]
    alone = run("copy", "--batch", queue_file(tmp_path, origin, ("gone", gone)), "--radio", "lte", "--json", env=env)
    assert (alone.code, alone.document["error"].startswith("gone: not sent: ")) == (1, True)


def test_a_job_that_fails_on_its_way_says_why(origin, tmp_path, env):
    queue = queue_file(tmp_path, origin, ("gone", {"sources": [f"{origin.url}gone"]}))
    done = run("copy", "--batch", queue, "--radio", "lte", "--quiet", "--json", env=env)
    (job,) = done.document["jobs"]
    assert (done.code, "404" in job["failure"]) == (1, True), done.document


def test_host_energy_of_concurrent_jobs_is_logged_for_none_of_them(origin, tmp_path, env):
    queue = queue_file(tmp_path, origin, ("photos", {}), ("notes", {}))
    done = run("copy", "--batch", queue, "--radio", "lte", "--radio-rate", "16Mbps", "--quiet", "--json", env=env)
    assert done.code == 0, done.err
    assert [burst["mode"] for burst in done.document["planned"]["bursts"]] == ["concurrent"]
    for job in done.document["jobs"]:
        assert (job["report"]["energy"], job["report"]["energy_j"]) == ([], None)
        assert all(not row.get("energy") and not row.get("usage") for row in job["report"]["records"])


def test_one_copy_over_a_radio_reports_its_tail_and_logs_it(origin, tmp_path, env):
    over_lte = ("--radio", "lte", "--device", "galaxy-s5", "--power-profile", "1W,2W", "--quiet", "--json")
    done = run("copy", f"{origin.url}photos/", str(tmp_path / "photos"), *over_lte, env=env)
    assert done.code == 0, done.err
    split = {each["host"]: each for each in done.document["energy_split"]}["destination"]
    logged = {each["host"]: each for each in done.document["records"][0]["energy"]}["destination"]
    assert split["tail_j"] == logged["tail_j"] == pytest.approx(TAIL_J)
    assert split["base_j"] + split["dynamic_j"] == pytest.approx(logged["total_j"])
    assert split["per_100_mb"]["tail_j"] == pytest.approx(TAIL_J * 100e6 / 300_000)
    assert split["per_gb"]["tail_j"] == pytest.approx(TAIL_J * 1e9 / 300_000)


def test_one_copy_over_a_radio_that_there_is_not_says_which_there_are(origin, tmp_path, env):
    refused = run("copy", f"{origin.url}photos/", str(tmp_path / "photos"), "--radio", "smoke", env=env)
    assert (refused.code, "no radio 'smoke'; there are 5g, lte, wifi" in refused.error) == (1, True)
    assert not (tmp_path / "photos").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_queue_that_is_stopped_while_it_waits_reports_what_was_sent_and_what_was_not(origin, tmp_path, env, number):
    queue = queue_file(tmp_path, origin, ("photos", {"deadline": "10s"}), ("notes", {"not_before": "1h"}))
    with start("copy", "--batch", queue, "--radio", "lte", "--no-tune", "--json", env=env) as process:
        said = b""
        while b"waiting" not in said:
            said = process.stderr.readline()
            assert said, process.communicate()
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert b"for notes, not to begin before" in said
    assert process.returncode == 128 + signal.SIGINT
    document = json.loads(out)
    photos, notes = document["jobs"]
    assert document["stopped"] is True
    assert (photos["name"], photos["report"]["status"], photos["in_time"]) == ("photos", "succeeded", True)
    assert (notes["name"], notes["starts_s"], notes["failure"]) == ("notes", None, "not sent: stopped before")
    assert document["as_sent"]["saved_j"] == 0  # one job shares no tail
    assert (tmp_path / "photos" / "file").exists()
    assert not (tmp_path / "notes").exists()


def test_a_dry_run_says_when_and_moves_nothing(origin, tmp_path, env):
    queue = queue_file(tmp_path, origin, ("photos", {}), ("notes", {"not_before": "1h"}))
    told = run("copy", "--batch", queue, "--radio", "lte", "--waiting-price", "1W", "--dry-run", env=env)
    assert told.code == 0, told.err
    assert "after 3600 s" in told.out
    assert "this host" in told.out
    assert not (tmp_path / "photos").exists()


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--batch", "{queue}"], "--radio", 2),
        (["--batch", "{queue}", "--radio", "smoke"], "no radio 'smoke'; there are 5g, lte, wifi", 1),
        (["--batch", "{queue}", "--radio", "lte", "--device", "galaxy-s99"], "no device 'galaxy-s99'", 1),
        (["--batch", "{queue}", "--radio", "lte", "http://host/a", "b"], "belong in the file", 2),
        (["--batch", "{queue}", "--radio", "lte", "--mover", "curl"], "tradewind itself", 2),
        (["--batch", "/nowhere/queue", "--radio", "lte"], "/nowhere/queue", 1),
        (["--batch", "{queue}", "--radio", "lte", "--radio-rate", "0.5bps"], "must be within 1 and 1e+16", 2),
        (["--radio-rate", "8Mbps", "http://host/a", "b"], "goes with --batch", 2),
        (["--device", "galaxy-s5", "http://host/a", "b"], "goes with --radio", 2),
    ],
)
def test_contradictory_options_are_refused_in_one_line(origin, tmp_path, env, arguments, message, code):
    queue = queue_file(tmp_path, origin, ("photos", {}))
    refused = run("copy", *(argument.format(queue=queue) for argument in arguments), env=env)
    assert refused.code == code
    assert message in refused.error


def test_a_service_makes_no_difference_to_how_a_radio_that_there_is_not_is_reported(origin, tmp_path, logged_in):
    queue = queue_file(tmp_path, origin, ("photos", {}))
    refused = run("copy", "--batch", queue, "--radio", "LTE", "--quiet", env=logged_in)
    assert (refused.code, "no radio 'LTE'; there are 5g, lte, wifi" in refused.error) == (1, True)


def test_empty_files_take_no_time_and_hold_up_nothing(origin, tmp_path, env):
    for name in ("first", "second"):
        (tmp_path / "source" / name).mkdir()
        (tmp_path / "source" / name / "marker").touch()
    queue = queue_file(tmp_path, origin, *((name, {}) for name in ("first", "second", "photos", "notes")))
    done = run("copy", "--batch", queue, "--radio", "lte", "--radio-rate", "80Mbps", "--no-tune", "--json", env=env)
    assert done.code == 0, done.err
    assert [burst["mode"] for burst in done.document["planned"]["bursts"]] == ["concurrent"]
    assert (tmp_path / "first" / "marker").exists()
    assert (tmp_path / "notes" / "file").exists()


@pytest.mark.parametrize("again", ["out", "elsewhere/../out", "link"])
def test_two_jobs_that_would_write_one_file_are_refused_before_anything_is_sent(origin, tmp_path, env, again):
    (tmp_path / "link").symlink_to(tmp_path / "out")
    places = [{"destination": str(tmp_path / place)} for place in ("out", again)]
    queue = queue_file(tmp_path, origin, *zip(("photos", "notes"), places, strict=True))
    refused = run("copy", "--batch", queue, "--radio", "lte", env=env)
    assert refused.code == 2
    assert f"notes: would write {tmp_path}/out/file, as photos does" in refused.error
    assert not (tmp_path / "out").exists()
