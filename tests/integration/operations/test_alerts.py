"""Alerts and the dashboard, as Prometheus' own tool judges them, and beside what the service tells."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.conditions import eventually
from tests.integration.live_transfers import Transfer
from tests.stack import Tenant
from workers.metrics import WorkerMetrics

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "infra" / "prometheus" / "alerts.yml"
ALERTS = {rule["alert"]: rule for rule in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]}
DASHBOARD = json.loads((ROOT / "infra" / "grafana" / "dashboards" / "tradewind.json").read_text(encoding="utf-8"))
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]

OF_PROMETHEUS = {"up"}
HOURS = 60
PATIENCE_S = 60.0
DAY_S = 86_400


class Case(NamedTuple):
    """Series, a value or a slope a minute, that an alert is about; the fewer or smaller ``quiet`` ones are no alert.

    ``labels`` : of the alert, beside its severity. ``minutes`` : from the first sample until one looks; no
    fewer than Prometheus waits for.
    """

    firing: dict[str, str]
    quiet: dict[str, str]
    labels: Mapping[str, str] = MappingProxyType({})
    minutes: int = 75


def steady(value: float) -> str:
    return f"{value}+0"


def rising(a_minute: float) -> str:
    return f"0+{a_minute}"


def of(name: str, **labels: str) -> str:
    return f"{name}{{{','.join(f'{label}={json.dumps(value)}' for label, value in labels.items())}}}"


def pairs(name: str, label: str, first: tuple[str, float], second: tuple[str, float]) -> dict[str, str]:
    return {of(name, **{label: value}): rising(a_minute) for value, a_minute in (first, second)}


def answered(slow: float, route: str) -> dict[str, str]:
    """A hundred requests a minute, so many of them in more than 50 ms."""
    name = "tradewind_request_seconds_bucket"
    counts = {"0.01": 100 - slow, "0.05": 100 - slow, "0.1": 100.0, "+Inf": 100.0}
    return {of(name, route=route, le=le): rising(a_minute) for le, a_minute in counts.items()}


SERVICE, WORKER, JOURNAL = (of("up", job=f"tradewind-{job}") for job in ("service", "worker", "journal"))
AGREEMENTS, RECOMMENDATIONS = "tradewind_agreements_total", "tradewind_recommendations_total"
TASKS, HEARTBEATS = "tradewind_task_seconds_count", "tradewind_heartbeats_total"
GATE, FITS = "tradewind_gate_failures_total", of("tradewind_fit_seconds_count", outcome="fitted")
AGE = of("tradewind_journal_age_seconds", stream="heartbeats")
RECOMMEND, HEARTBEAT = "/v1/recommend", "/v1/transfers/{transfer_id}/heartbeats"
SIGN_INS, RELEASE_AGE = "tradewind_sign_ins_refused_total", "tradewind_oldest_release_age_seconds"
REDIS, REDIS_LIMIT = "tradewind_redis_memory_bytes", "tradewind_redis_memory_limit_bytes"
FOLLOWED, BEHIND = "tradewind_backup_followed", "tradewind_backup_behind_bytes"
COPIED = "tradewind_backup_copy_age_seconds"
DATABASE, TOLD = of("tradewind_watched", part="database"), "tradewind_state_told"
REQUESTS, DISK = "tradewind_requests_total", "tradewind_upload_disk_free_ratio"
SPENDING = "tradewind_spending_limits_near_total"
QUEUE = of("tradewind_queue_jobs", queue="celery")

CASES = {
    "ServiceDoesNotAnswer": Case({SERVICE: steady(0)}, {SERVICE: steady(1)}),
    "PartIsAway": Case(
        {of("tradewind_watched", part="redis"): steady(0)},
        {of("tradewind_watched", part="redis"): steady(1)},
        {"part": "redis"},
    ),
    "StateIsNotTold": Case(
        {DATABASE: steady(1), TOLD: steady(0)},
        {DATABASE: steady(0), TOLD: steady(0)},  # PartIsAway says so
    ),
    "ProcessIsAway": Case({WORKER: steady(0)}, {WORKER: steady(1)}, {"job": "tradewind-worker"}),
    "NoWorker": Case({JOURNAL: steady(1)}, {WORKER: steady(1)}),
    "NoJournal": Case({WORKER: steady(1)}, {JOURNAL: steady(1)}),
    "RequestsFail": Case(
        pairs(REQUESTS, "status", ("200", 98), ("503", 2)),
        pairs(REQUESTS, "status", ("404", 199), ("503", 1)),
    ),
    "CallsAreRefused": Case(
        {of("tradewind_calls_refused_total", kind="heartbeat"): rising(70)},
        pairs("tradewind_calls_refused_total", "kind", ("heartbeat", 50), ("other", 50)),
        {"kind": "heartbeat"},
    ),
    "SignInsAreRefused": Case({SIGN_INS: rising(4)}, {SIGN_INS: rising(3)}),
    "RecommendIsSlow": Case(answered(2, RECOMMEND), answered(0.5, RECOMMEND)),
    "HeartbeatsAreSlow": Case(answered(2, HEARTBEAT), answered(0.5, HEARTBEAT)),
    "MostAnswersAreRules": Case(
        pairs(RECOMMENDATIONS, "source", ("release", 4), ("heuristic", 6)),
        pairs(RECOMMENDATIONS, "source", ("release", 6), ("heuristic", 4)),
    ),
    "LogsAreNotLearned": Case(
        {"tradewind_ingest_lag_seconds": steady(1900)}, {"tradewind_ingest_lag_seconds": steady(1700)}
    ),
    "ReleaseIsOld": Case({RELEASE_AGE: steady(31 * DAY_S)}, {RELEASE_AGE: steady(29 * DAY_S)}),
    "GateRefusesModels": Case({GATE: rising(6), FITS: rising(10)}, {GATE: rising(4), FITS: rising(10)}),
    "AgreementsAreMissed": Case(
        pairs(AGREEMENTS, "outcome", ("kept", 8), ("missed", 2)),
        pairs(AGREEMENTS, "outcome", ("kept", 0.1), ("missed", 0.1)),
    ),
    "SpendingIsNearLimit": Case({SPENDING: "0+0x60 1+0"}, {SPENDING: steady(7)}, minutes=70),
    "JobsWait": Case({QUEUE: steady(101)}, {QUEUE: steady(99)}, {"queue": "celery"}),
    "JournalWaits": Case(
        {AGE: steady(121)},
        {AGE: steady(119)},
        {"stream": "heartbeats"},
    ),
    "HeartbeatsAreDropped": Case(
        pairs(HEARTBEATS, "outcome", ("stored", 9), ("dropped", 1)),
        pairs(HEARTBEATS, "outcome", ("stored", 9), ("dropped", 0)),
    ),
    "SweepStopped": Case(
        {"tradewind_last_sweep_time_seconds": steady(0)}, {"tradewind_last_sweep_time_seconds": rising(60)}
    ),
    "TasksFail": Case(
        {of(TASKS, task="fit", outcome="failed"): "0+0x60 1+0"},  # once, as a worker counts it
        {of(TASKS, task="fit", outcome="retried"): "0+0x60 1+0", of(TASKS, task="fit", outcome="failed"): steady(0)},
        {"task": "fit"},
        70,
    ),
    "ExportsAreLate": Case(
        {"tradewind_days_to_export": steady(1)},
        {"tradewind_days_to_export": "1+0x1500 0+0"},
        {},
        27 * HOURS,
    ),
    "LogsAreOverdue": Case(
        {"tradewind_months_overdue": steady(1)},
        {"tradewind_months_overdue": steady(0)},
        {},
        49 * HOURS,
    ),
    "BackupIsLate": Case({FOLLOWED: steady(0)}, {FOLLOWED: steady(1), BEHIND: steady(1e8)}),
    "CopyIsOld": Case({COPIED: steady(110_000)}, {COPIED: steady(100_000), FOLLOWED: steady(1)}, {}, 3 * HOURS),
    "RedisIsFull": Case(
        {REDIS: steady(81), REDIS_LIMIT: steady(100)},
        {REDIS: steady(79), REDIS_LIMIT: steady(100)},
    ),
    "DiskIsFull": Case({DISK: steady(0.09)}, {DISK: steady(0.11)}),
}

MORE_CASES = {
    # As after a start whose ``beat`` never came up: there is no series to be late.
    "SweepStopped": Case({WORKER: steady(1)}, {"tradewind_last_sweep_time_seconds": rising(60)}),
    # A failure at night, when few ask.
    "RequestsFail": Case(
        pairs(REQUESTS, "status", ("200", 9), ("503", 2)), pairs(REQUESTS, "status", ("200", 9), ("503", 0.5))
    ),
    "BackupIsLate": Case({FOLLOWED: steady(1), BEHIND: steady(2e9)}, {SERVICE: steady(1)}),
    "CopyIsOld": Case({FOLLOWED: steady(1)}, {SERVICE: steady(1)}, {}, 3 * HOURS),
    "RedisIsFull": Case({REDIS: steady(2), REDIS_LIMIT: steady(2)}, {REDIS: steady(2), REDIS_LIMIT: steady(0)}),
}


def double_processes(case: Case) -> Case:
    """The same from two processes of the API: an operator is called once."""
    twice = {
        name.replace("{", f"{{{pod},", 1) if "{" in name else f"{name}{{{pod}}}": values
        for name, values in case.firing.items()
        for pod in ('instance="a"', 'instance="b"')
    }
    return case._replace(firing=twice)


EACH_FOR_ITSELF = {"ProcessIsAway", "DiskIsFull"}
"""Alerts about one process of several."""

LONG = 6 * HOURS
"""A course of this many minutes or more is judged every ten of them, which is a sixth of the time; others every one."""


def promtool(*arguments: object, text: str | None = None) -> None:
    """Run it; what it finds wrong fails the test."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("there is no promtool; as root: infra/install-test-tools")
    done = subprocess.run(
        [program, *map(str, arguments)],
        input=text,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout


def test_each_alert_fires_for_what_it_is_about_and_not_a_little_before_it(tmp_path: Path) -> None:
    assert CASES.keys() == ALERTS.keys()
    twice = {alert: double_processes(case) for alert, case in CASES.items() if alert not in EACH_FOR_ITSELF}
    cases = [*CASES.items(), *MORE_CASES.items()]
    judged = [(alert, case, fires) for alert, case in cases for fires in (True, False)]
    judged += [(alert, case, True) for alert, case in twice.items() if case.minutes < LONG]
    for every, long in (("1m", False), ("10m", True)):
        tests = [_rule_test(*each) for each in judged if (each[1].minutes >= LONG) is long]
        program = tmp_path / f"tests-{every}.yml"
        program.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": every, "tests": tests}))
        promtool("test", "rules", program)


def _rule_test(alert: str, case: Case, fires: bool) -> dict[str, Any]:
    """Nothing fires before the time that the rule waits for."""
    rule, series = ALERTS[alert], case.firing if fires else case.quiet
    expected = {"exp_labels": {**case.labels, **rule["labels"]}, "exp_annotations": rule["annotations"]}
    looks = {_minutes(rule["for"]) - 1: [], case.minutes: [expected] * fires}
    return {
        "name": alert,
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{values}x{case.minutes}"} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": alerts} for minute, alerts in looks.items()
        ],
    }


def _minutes(duration: str) -> int:
    return int(duration[:-1]) * {"m": 1, "h": HOURS, "d": 24 * HOURS}[duration[-1]]


def test_the_configuration_of_prometheus_is_one() -> None:
    promtool("check", "config", ROOT / "infra" / "prometheus" / "prometheus.yml")


def test_every_query_of_the_dashboard_can_be_read(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(QUERIES)]
    program = tmp_path / "dashboard.yml"
    program.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", program)


def test_alerts_and_dashboard_query_metrics_that_are_exposed(api: str) -> None:
    told = {name for text in _exposed(api) for name in _series(text)}
    for query in [*QUERIES, *map(_query, ALERTS)]:
        asked = set(re.findall(r"\b(?:tradewind_\w+|up\b)", query))
        assert asked, query
        assert asked <= told | OF_PROMETHEUS, query


def test_routes_in_alerts_and_dashboard_are_counted_under_that_name(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        Transfer(client).beat(0)
    counted = set(re.findall(r'route="([^"]+)"', httpx.get(f"{api}/metrics", timeout=PATIENCE_S).text))
    asked = {route for query in [*QUERIES, *map(_query, ALERTS)] for route in re.findall(r'route="([^"]+)"', query)}
    assert asked
    assert asked <= counted


def test_names_and_help_are_as_prometheus_wants_them(api: str) -> None:
    for text in _exposed(api):
        promtool("check", "metrics", text=text)


def _query(alert: str) -> str:
    query: str = ALERTS[alert]["expr"]
    return query


def _exposed(api: str) -> list[str]:
    """What an API process, the service as a whole and a worker tell, be it without a sample yet.

    On a busy host the database may be too slow to tell what waits; the service says so, and is asked again.
    """

    def full_state() -> str | None:
        text = httpx.get(f"{api}/metrics/service", timeout=PATIENCE_S).text
        return text if "tradewind_state_told 1.0" in text else None

    worker = generate_latest(WorkerMetrics.create().registry).decode()
    return [httpx.get(f"{api}/metrics", timeout=PATIENCE_S).text, eventually(full_state) or "", worker]


def _series(text: str) -> set[str]:
    """Names under which samples can be asked for; a histogram has three."""
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
    return {
        family.name + suffix
        for family in text_string_to_metric_families(text)
        for suffix in suffixes.get(family.type, ("",))
    }


def test_every_alert_says_how_grave_it_is_what_it_is_and_what_to_do() -> None:
    operations = (ROOT / "docs" / "how-to" / "answer-alerts.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)\n\n(?=\S)", operations, re.MULTILINE)
    assert sections == list(ALERTS), "one section an alert, in their order"
    for name, rule in ALERTS.items():
        assert rule["for"], name
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"].keys() == {"summary", "runbook"}
        assert rule["annotations"]["runbook"] == f"docs/how-to/answer-alerts.md#{name.lower()}"
