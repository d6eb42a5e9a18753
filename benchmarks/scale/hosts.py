"""Let workers on several hosts share the links of a release, and finish it when one is cut off in the middle.

Each host is a network namespace with a worker process of its own, which reaches PostgreSQL and Valkey over TCP, by a
link that this machine's kernel carries. Once a third of the links is fitted, the link of one host goes down: the
service gets no notice, and the worker continues with its fit.
"""

import json
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import redis

from benchmarks.pipeline import store_logs
from benchmarks.support.report import Value
from benchmarks.support.stored_database import print_now
from benchmarks.support.workload import draw_ndjson_lines
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.leftovers import record_namespaces
from benchmarks.testbed.namespaces import DEVICE, Host, make_namespace, set_up_device
from benchmarks.testbed.permissions import require_permission
from services.application.shared.jobs import RefreshModels
from services.bootstrap import Container, build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database
from services.persistence.roles import replace_address
from services.processes import run_processes
from services.queue.dispatcher import JOBS_QUEUE
from services.serve import CELERY


@dataclass(frozen=True, slots=True)
class Layout:
    """Hosts, links and their rows; ``sweep_s`` : how often lost jobs are looked for here, 60 s by default."""

    hosts: int
    links: int
    rows_a_link: int
    sweep_s: float


LAYOUT = Layout(hosts=3, links=24, rows_a_link=1_000, sweep_s=15.0)
SMALLEST_LAYOUT = Layout(hosts=2, links=4, rows_a_link=200, sweep_s=2.0)
CUT_AT = 1 / 3
"""Share of the links that are fitted before the cut."""
PATIENCE_S = 1_200.0
POLL_S = 0.1

LOGIN_RULES = (
    "local all all peer map=owner\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all 198.18.0.0/15 scram-sha-256\n"
)
"""PostgreSQL's rules; 198.18.0.0/15 are the addresses set aside for benchmarks (RFC 2544)."""


def measure_cut_off(layout: Layout = LAYOUT, *, seed: int) -> dict[str, Value]:
    """Return figures of a release whose last two thirds are made without a host that had started some of it.

    Raises
    ------
    CannotEmulate : namespaces are not permitted here.
    """
    require_permission()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        names = {number: f"tw{os.getpid()}-{number}" for number in range(1, layout.hosts + 1)}
        stack.enter_context(record_namespaces(list(names.values()), purpose="scale"))
        hosts = [set_up_host(name, number) for number, name in names.items()]
        postgres, valkey = stack.enter_context(run_servers(folder, layout.hosts))
        password, tenant_id = secrets.token_hex(), uuid4()
        database_url = prepare_database(postgres.url(tcp=True), app_password=password)
        rows = layout.links * layout.rows_a_link
        store_logs(database_url, tenant_id, draw_ndjson_lines(rows, links=layout.links, seed=seed))
        parts = stack.enter_context(build_container(database_url=database_url, redis_url=valkey.url()))
        logs = {each.namespace: folder / each.namespace for each in hosts}
        stack.enter_context(run_workers(hosts, logs, database_url, valkey.url(), layout.sweep_s))
        case: dict[str, Value] = {"case": f"one of {layout.hosts} hosts cut off", "rows": rows, "links": layout.links}
        return {**case, **run_cut_off(parts, tenant_id, hosts, logs, layout.links)}


def run_cut_off(
    parts: Container, tenant_id: UUID, hosts: Sequence[Host], logs: Mapping[str, Path], links: int
) -> dict[str, Value]:
    """Request the release, cut the first host off, and wait for the release."""
    lost = hosts[0]
    started = time.perf_counter()
    with parts.store.unit_of_work(tenant_id) as uow:
        uow.publish(RefreshModels(tenant_id))
        uow.commit()
    wait_until(lambda: count_fitted(parts, tenant_id) >= links * CUT_AT and len(list_fits(logs[lost.namespace])) > 0)
    run_ip("-n", lost.namespace, "link", "set", DEVICE, "down")
    cut = time.perf_counter()
    print_now(f"{lost.namespace} is cut off, {count_fitted(parts, tenant_id)} of {links} links are fitted")
    wait_until(lambda: read_current_release(parts, tenant_id) is not None)
    finished = time.perf_counter()
    with parts.store.unit_of_work(tenant_id) as uow:
        (release,) = uow.releases.list_page(limit=2)
    others = [len(list_fits(logs[each.namespace])) for each in hosts[1:]]
    return {
        "seconds": finished - started,
        "seconds_after_cut": finished - cut,
        "links_with_model": release.links,
        "published_once": release.current,
        "fitted_by_cut_host": len(list_fits(logs[lost.namespace])),
        "fitted_by_others": others,
    }


def count_fitted(parts: Container, tenant_id: UUID) -> int:
    with parts.store.unit_of_work(tenant_id) as uow:
        release_id = uow.release_work.find_building()
        return 0 if release_id is None else uow.release_work.count_progress(release_id).done


def read_current_release(parts: Container, tenant_id: UUID) -> int | None:
    with parts.store.unit_of_work(tenant_id) as uow:
        return uow.releases.find_current()


def list_fits(log: Path) -> list[str]:
    """Return the links that a host's worker has logged as fitted or refused."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return [line["link_id"] for line in lines if line["event"] in ("link.fitted", "link.refused")]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE_S:g} s")
        time.sleep(POLL_S)


def set_up_host(name: str, number: int) -> Host:
    """Make a namespace with a link of its name to this one: 198.18.N.1 here, 198.18.N.2 there."""
    host = Host(name, f"198.18.{number}.2")
    make_namespace(host)
    run_ip("link", "add", name, "type", "veth", "peer", "name", DEVICE, "netns", name)
    set_up_device(host)
    run_ip("addr", "add", f"198.18.{number}.1/24", "dev", name)
    run_ip("link", "set", name, "up")
    return host


def run_ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EmulationBroke(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def run_servers(folder: Path, hosts: int) -> Iterator[tuple[EmbeddedPostgres, EmbeddedValkey]]:
    """Run PostgreSQL and Valkey that listen on this end of every host's link."""
    addresses = ["127.0.0.1", *(f"198.18.{number}.1" for number in range(1, hosts + 1))]
    rules = folder / "pg_hba.conf"
    rules.write_text(LOGIN_RULES, encoding="utf-8")
    settings = {"listen_addresses": ",".join(addresses), "hba_file": str(rules)}
    with EmbeddedPostgres.temporary(tcp=True, settings=settings) as postgres, EmbeddedValkey.temporary() as valkey:
        with redis.Redis.from_url(valkey.url()) as client:
            client.config_set("bind", " ".join(addresses))
        yield postgres, valkey


@contextmanager
def run_workers(
    hosts: Sequence[Host], logs: Mapping[str, Path], database_url: str, redis_url: str, sweep_s: float
) -> Iterator[None]:
    """Run a worker process on each host, and here the process that sends lost jobs again."""
    variables = {**os.environ, "TRADEWIND_SWEEP_INTERVAL_S": str(sweep_s)}
    worker = [*CELERY, "worker", f"--queues={JOBS_QUEUE}", "--concurrency=1"]
    commands, own = {}, {}
    for number, each in enumerate(hosts, 1):
        log = logs[each.namespace]
        log.touch()
        # Run a worker process on each host, and here the process that sends lost jobs again.
        logged = ["sh", "-c", 'exec "$@" 2>"$0"', str(log), *worker, f"--hostname=celery@{each.namespace}"]
        commands[each.namespace] = each.build_command(logged)
        there = f"198.18.{number}.1"
        own[each.namespace] = {
            "DATABASE_URL": replace_address(database_url, f"{there}:{urlsplit(database_url).port}"),
            "REDIS_URL": replace_address(redis_url, f"{there}:{urlsplit(redis_url).port}"),
        }
    schedule = Path(next(iter(logs.values()))).parent / "schedule"
    commands["beat"] = [*CELERY, "beat", f"--schedule={schedule}", "--pidfile=", "--loglevel=ERROR"]
    own["beat"] = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with run_processes(commands, variables, own=own):
        yield
