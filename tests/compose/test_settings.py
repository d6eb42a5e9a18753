"""Settings and secrets that are wrong."""

import json

import pytest


@pytest.mark.parametrize(
    ("service", "variable", "value", "told"),
    [
        ("api", "DATABASE_URL_FILE", "/nowhere", "api: DATABASE_URL_FILE: cannot read /nowhere"),
        ("api", "REDIS_URL_FILE", "", "api: REDIS_URL: must be set"),
        ("worker", "DATABASE_URL_FILE", "/nowhere", "workers: DATABASE_URL_FILE: cannot read /nowhere"),
        ("worker", "TRADEWIND_TASK_WORKERS", "many", "workers: TRADEWIND_TASK_WORKERS: must be a whole number"),
        (
            "beat",
            "TRADEWIND_SWEEP_INTERVAL_S",
            "soon",
            "workers: TRADEWIND_SWEEP_INTERVAL_S: must be a number of seconds",
        ),
        ("migrate", "TRADEWIND_ADMIN_DATABASE_URL_FILE", "", "prepare: TRADEWIND_ADMIN_DATABASE_URL: must be set"),
    ],
)
def test_a_wrong_setting_ends_the_start_with_one_line_that_names_it(stack, service, variable, value, told):
    words = ("docker", "compose", "run", "--rm", "--no-deps", "-T", "--env", f"{variable}={value}", service)
    ran = stack.run(*words, check=False)
    (line,) = (ran.stdout + ran.stderr).splitlines()
    assert line.startswith(told)
    assert ran.returncode


def test_a_missing_secret_is_named(stack):
    hidden = stack.run("mv", "secrets/redis_url", "secrets/hidden")
    try:
        ran = stack.run("docker", "compose", "run", "--rm", "--no-deps", "-T", "beat", check=False)
    finally:
        stack.run("mv", "secrets/hidden", "secrets/redis_url")
    assert hidden.returncode == 0
    assert ran.returncode
    assert "secrets/redis_url" in ran.stderr


def test_a_certificate_that_is_not_there_is_named_by_caddy(stack):
    wrong = "/etc/caddy/no.pem /etc/caddy/no.key"
    ran = stack.run("docker", "compose", "run", "--rm", "--no-deps", "-T", "caddy", check=False, TRADEWIND_TLS=wrong)
    assert ran.returncode
    assert "/etc/caddy/no.pem: no such file" in ran.stderr.splitlines()[-1]


def test_caddy_reads_trusted_proxies_as_a_comma_separated_list_like_the_api(stack):
    words = ("docker", "compose", "run", "--rm", "--no-deps", "-T", "caddy", "sh", "/etc/caddy/with-settings", "adapt")
    shown = json.loads(stack.run(*words, TRADEWIND_PROXIES="10.1.0.0/16, 10.2.0.1").stdout)
    assert trusted_in(shown) == [["10.1.0.0/16", "10.2.0.1"]]


def trusted_in(shown):
    """What stands under ``trusted_proxies`` anywhere in Caddy's settings."""
    if isinstance(shown, list):
        return [found for each in shown for found in trusted_in(each)]
    if isinstance(shown, dict):
        here = [shown["trusted_proxies"]] if "trusted_proxies" in shown else []
        return here + [found for each in shown.values() for found in trusted_in(each)]
    return []
