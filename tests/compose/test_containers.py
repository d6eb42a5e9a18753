"""What may be done in the containers, and what they say of themselves."""

import pytest

from tests.compose_stack import SERVER_SERVICES
from tests.conditions import eventually

ALL = ("caddy", "postgres", "redis", *SERVER_SERVICES)


@pytest.mark.parametrize("service", ALL)
def test_every_container_is_well_bounded_and_nobody_in_it_is_root(stack, service):
    containers = stack.containers(service)
    assert len(containers) == (2 if service == "api" else 1)
    for container in containers:
        eventually(lambda container=container: stack.health(container) == "healthy")
        bounds = (
            "{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}"
        )
        read_only, *limits = stack.inspect(container, bounds).split()
        assert read_only == "true"
        assert all(int(limit) > 0 for limit in limits)
        _, *processes = stack.run("docker", "top", container, "-o", "uid,pid").stdout.splitlines()
        assert processes
        assert "0" not in {process.split()[0] for process in processes}


@pytest.mark.parametrize("service", SERVER_SERVICES)
def test_nothing_of_a_container_of_ours_can_be_changed(stack, service):
    refused = stack.run("docker", "exec", stack.containers(service)[0], "touch", "/opt/tradewind/changed", check=False)
    assert "Read-only file system" in refused.stderr


def test_migrations_ran_once_and_before_everything_else(stack):
    assert stack.compose("ps", "--all", "--format", "{{.Status}}", "migrate").startswith("Exited (0)")
    migrated = stack.inspect(stack.compose("ps", "--all", "--quiet", "migrate").strip(), "{{.State.FinishedAt}}")
    for service in SERVER_SERVICES:
        for container in stack.containers(service):
            assert stack.inspect(container, "{{.State.StartedAt}}") > migrated


def test_no_password_appears_in_a_containers_environment_or_command(stack):
    for service in ALL:
        for container in stack.containers(service):
            told = stack.inspect(container, "{{json .Config}}")
            for secret in ("postgres_password", "database_url", "redis_url"):
                value = stack.run("cat", f"secrets/{secret}").stdout.strip()
                assert value not in told
