"""Probes of a running API, on real PostgreSQL and Valkey, as the application's ordinary role."""

import httpx


def test_a_process_on_a_current_schema_is_ready(api):
    assert httpx.get(f"{api}/readyz").status_code == 200


def test_a_living_process_says_so(api):
    assert httpx.get(f"{api}/healthz").status_code == 200
