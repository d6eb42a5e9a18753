"""``tradewind copy --dry-run``: which files would move, and which are there already."""

from tests.integration.agent.support.command import run


def test_dry_run_names_the_files_that_would_move(origin, env, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", env=env)
    assert outcome.code == 0, outcome.err
    assert f"{origin.url}file0 -> {tmp_path}/copy/file0" in outcome.out
    assert "already there" not in outcome.out


def test_dry_run_after_a_complete_copy_says_that_nothing_would_move(origin, env, tmp_path):
    assert run("copy", origin.url, str(tmp_path / "copy"), env=env).code == 0
    text = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", env=env).out
    assert "3 already there, nothing to move" in text.splitlines()[0]
    document = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", "--json", env=env).document
    assert len(document["files"]) == len(document["already_there"]) == 3
    assert (document["to_compare"], document["bytes_to_move"]) == ([], 0)


def test_dry_run_counts_only_the_file_that_is_missing(origin, env, tmp_path):
    assert run("copy", origin.url, str(tmp_path / "copy"), env=env).code == 0
    (tmp_path / "copy" / "file1").unlink()
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--dry-run", env=env)
    assert "2 already there; 1 file to move, at most 50 kB" in outcome.out
    assert not (tmp_path / "copy" / "file1").exists()


def test_dry_run_of_an_upload_says_that_the_receiver_is_queried_later(env, tmp_path):
    (tmp_path / "one").write_bytes(b"x")
    outcome = run("copy", str(tmp_path / "one"), "http://127.0.0.1:9/", "--dry-run", "--json", env=env)
    assert outcome.code == 0, outcome.err
    assert outcome.document["to_compare"] == outcome.document["files"]


def test_server_without_scheme_is_answered_with_the_address_to_write(env, tmp_path):
    outcome = run("copy", "127.0.0.1:8091/t4/", str(tmp_path / "copy"), env=env)
    assert outcome.code != 0
    assert "write http://127.0.0.1:8091/t4/" in outcome.err


def test_token_in_place_of_its_file_is_answered_without_repeating_it(env, origin, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--bearer-token", "sesame", env=env)
    assert outcome.code == 2
    assert "no such file" in outcome.err
    assert "env:NAME" in outcome.err
    assert "sesame" not in outcome.err


def test_month_that_is_none_is_wrong_usage(env):
    outcome = run("usage", "--month", "2026-13", env=env)
    assert outcome.code == 2
    assert "write it like 2026-11" in outcome.err


def test_share_as_target_is_reported_as_not_judged(env, origin, tmp_path):
    outcome = run("copy", origin.url, str(tmp_path / "copy"), "--sla", "throughput_at_least=90%", env=env)
    assert outcome.code == 0, outcome.err
    assert "not judged, since it is a share" in outcome.out


def test_help_cuts_no_names_on_a_narrow_terminal(env):
    shown = run("copy", "--help", env=env | {"COLUMNS": "80"}).out
    assert "--congestion-control" in shown
    assert "throughput_at_least" in shown
