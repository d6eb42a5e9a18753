"""infra/kubernetes as kustomize renders it: valid, confined, as Compose and the code say; no cluster is needed."""

import importlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pydantic
import pytest
import yaml

from infra import prometheus_rule
from services.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
KUBERNETES = ROOT / "infra" / "kubernetes"
OPERATOR = KUBERNETES / "components" / "prometheus-operator"
KUBECTL = Path(sys.prefix) / "bin" / "kubectl"
OVERLAYS = ("small", "production")
PROCESSES = {"api", "worker", "journal", "beat"}
EXPECTED_SECRETS = {
    "tradewind-database": "database_url",
    "tradewind-database-admin": "admin_database_url",
    "tradewind-redis": "redis_url",
}


class Noting(dict[str, str]):
    """An environment that remembers which variables were looked up."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def get(self, variable, default=None):
        self.asked.add(variable)
        return super().get(variable, default)


@cache
def of_operators():
    """Kinds that Kubernetes' own schemas do not tell: made from those that KEDA and the Prometheus operator bring.

    Their modules take seconds to import: whoever only collects these tests goes without.
    """
    keda = importlib.import_module("cloudcoil.models.keda.v1alpha1")
    operator = importlib.import_module("cloudcoil.models.prometheus_operator.v1")
    known = (keda.ScaledObject, operator.ServiceMonitor, operator.PodMonitor, operator.PrometheusRule)
    return {each.__name__: each for each in known}


@pytest.fixture(scope="module", params=OVERLAYS)
def resources(request):
    """All that an overlay puts into a cluster."""
    return rendered(KUBERNETES / "overlays" / request.param)


def rendered(folder):
    shown = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True, check=True)
    assert not shown.stderr, "kustomize warns"
    return list(yaml.safe_load_all(shown.stdout))


def overlay(folder, **more):
    """What an operator's own overlay of the base renders."""
    wanted = {"resources": [os.path.relpath(KUBERNETES / "base", folder)], **more}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(wanted))
    return rendered(folder)


def of_kind(resources, kind):
    return {each["metadata"]["name"]: each for each in resources if each["kind"] == kind}


def pods(resources):
    workloads = of_kind(resources, "Deployment") | of_kind(resources, "Job")
    return {each["metadata"]["labels"]["app.kubernetes.io/component"]: pod(each) for each in workloads.values()}


def pod(workload):
    return workload["spec"]["template"]["spec"]


def containers_of(one):
    return [*one.get("initContainers", ()), *one["containers"]]


def main_containers(resources):
    found = {}
    for name, each in pods(resources).items():
        (found[name],) = each["containers"]
    return found


def values(container):
    return {each["name"]: each["value"] for each in container["env"]}


def test_every_resource_is_valid_by_the_schema_of_its_kind(resources):
    for each in resources:
        validate(each)


@cache
def published_schemas():
    """Load the validator when a test needs it: that takes 3 s of a processor, and every worker collects this file."""
    return importlib.import_module("kubernetes_validate")


def validate(resource):
    """Hold it against the schema of its kind, which must tell each of its fields."""
    if resource["kind"] in of_operators():
        by_schema = {"strict": True, "extra": "forbid", "by_alias": True, "by_name": False}
        of_operators()[resource["kind"]].model_validate(resource, **by_schema)
    else:
        schemas = published_schemas()
        schemas.validate(resource, schemas.latest_version(), strict=True)


def test_a_misspelt_field_is_found_in_every_kind():
    every = rendered(KUBERNETES / "overlays" / "production")
    assert {each["kind"] for each in every} >= of_operators().keys()
    for each in every:
        each.get("spec", each)["misspelt"] = 1
        with pytest.raises((published_schemas().ValidationError, pydantic.ValidationError), match="misspelt"):
            validate(each)


@pytest.mark.parametrize(
    "wrong",
    [
        {"maxReplicaCount": "20"},
        {"scaleTargetRef": {"kind": "Deployment"}},
        {"triggers": [{"type": "prometheus", "metadata": {"threshold": 16}}]},
    ],
)
def test_a_wrong_value_of_an_operators_kind_is_found(wrong):
    (scaled,) = of_kind(rendered(KUBERNETES / "overlays" / "production"), "ScaledObject").values()
    scaled["spec"] |= wrong
    with pytest.raises(pydantic.ValidationError, match=next(iter(wrong))):
        validate(scaled)


def test_processes_are_started_as_by_compose_and_from_its_image(resources):
    proxies = "--forwarded-allow-ips="
    for name, container in main_containers(resources).items():
        in_compose = [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", part) for part in COMPOSE[name]["command"]]
        expected = [f"{proxies}$(TRADEWIND_PROXIES)" if part.startswith(proxies) else part for part in in_compose]
        assert container["command"] == expected, name
    images = {each["image"] for one in pods(resources).values() for each in containers_of(one)}
    assert images == {COMPOSE["api"]["image"]}


def test_the_job_of_migrations_is_named_by_the_version(resources):
    (name,) = of_kind(resources, "Job")
    assert name == f"migrate-{COMPOSE['migrate']['image'].rpartition(':')[2].replace('.', '-')}"


def test_other_settings_change_all_pods_but_not_the_job_which_cannot_be_changed(resources, tmp_path):
    changed = overlay(
        tmp_path,
        namespace="tradewind",
        configMapGenerator=[
            {"name": "tradewind-settings", "behavior": "merge", "literals": ["TRADEWIND_SWEEP_INTERVAL_S=61"]},
            {
                "name": "tradewind-migration",
                "behavior": "merge",
                "literals": ["TRADEWIND_MIGRATION_LOCK_TIMEOUT_S=61"],
            },
        ],
    )
    assert of_kind(changed, "Job") == of_kind(resources, "Job")
    for name, each in of_kind(resources, "Deployment").items():
        assert pod(of_kind(changed, "Deployment")[name])["containers"] != pod(each)["containers"], name


def test_nobody_is_believed_who_asks_but_whom_an_overlay_names(resources):
    told = [each["data"].get("TRADEWIND_PROXIES") for each in of_kind(resources, "ConfigMap").values()]
    assert [each for each in told if each] == ["127.0.0.1"]  # a pod's own loopback, where nobody else asks


def test_all_but_the_migration_wait_for_the_schema(resources):
    waiting = {name for name, each in pods(resources).items() if "initContainers" in each}
    assert waiting == PROCESSES
    for name in waiting:
        (wait,) = pods(resources)[name]["initContainers"]
        assert wait["command"] == ["python", "-m", "services.prepare", "wait"]


def test_variables_are_settings_and_files_those_of_compose(resources):
    asked = Noting()
    Settings.from_environment(asked, data_folder=Path("/tmp"))
    maps = {name: each for name, each in of_kind(resources, "ConfigMap").items() if "dashboard" not in name}
    assert all(set(each["data"]) <= asked.asked for each in maps.values())
    migration = maps.pop("tradewind-migration")
    (settings,) = maps.values()
    for name, container in main_containers(resources).items():
        given, in_compose = values(container), COMPOSE[name]["environment"]
        assert set(given) <= asked.asked
        fixed = {key: value for key, value in in_compose.items() if key.endswith("_FILE") or "_METRICS_" in key}
        assert {key: given[key] for key in fixed} == fixed
        (read,) = (each["configMapRef"]["name"] for each in container["envFrom"] if "configMapRef" in each)
        assert read == (migration if name == "migrate" else settings)["metadata"]["name"]


def test_secrets_are_named_and_not_contained(resources):
    assert not of_kind(resources, "Secret")
    for name, each in pods(resources).items():
        (mounted,) = (volume["projected"]["sources"] for volume in each["volumes"] if "projected" in volume)
        files = {f"/run/secrets/{EXPECTED_SECRETS[source['secret']['name']]}" for source in mounted}
        (container,) = each["containers"]
        assert files == {value for key, value in values(container).items() if key.endswith("_FILE")}, name
    holders = [name for name, each in pods(resources).items() if "tradewind-database-admin" in str(each)]
    assert holders == ["migrate"]


def test_probes_ask_what_compose_asks(resources):
    containers = main_containers(resources)

    def in_compose(name):
        return COMPOSE[name]["healthcheck"]["test"][-1].replace("$$", "$")

    for name in ("worker", "journal"):
        assert containers[name]["readinessProbe"]["exec"]["command"][-1] == in_compose(name)
    assert containers["beat"]["livenessProbe"]["exec"]["command"][-1] == in_compose("beat")
    ready, alive = (containers["api"][probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe"))
    assert "/readyz'" in in_compose("api")  # which takes nothing out of service, and is for people
    assert ready == "/servingz", "pods that lost their database together would all be taken out of service"
    known = json.loads((ROOT / "tests" / "contract" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    assert {ready, alive} <= set(known)


def test_ports_are_those_that_processes_listen_on(resources):
    containers = main_containers(resources)
    (http,) = containers["api"]["ports"]
    assert f"--port={http['containerPort']}" in containers["api"]["command"]
    for name in ("worker", "journal"):
        (metrics,) = containers[name]["ports"]
        assert str(metrics["containerPort"]) == values(containers[name])["TRADEWIND_WORKER_METRICS_PORT"]
    named = {each["name"] for container in containers.values() for each in container.get("ports", ())}
    for container in containers.values():
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container.get(probe, {}).get("httpGet", {}).get("port", "http") in named


def test_no_process_has_more_rights_than_it_needs(resources):
    assert all(
        each["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") == "restricted"
        for each in of_kind(resources, "Namespace").values()
    )
    for each in pods(resources).values():
        assert each["automountServiceAccountToken"] is False
        assert each["securityContext"]["runAsNonRoot"] is True
        assert each["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers_of(each):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def test_nothing_is_open_but_what_a_policy_names(resources):
    policies = of_kind(resources, "NetworkPolicy")
    denied = policies.pop("default-deny")["spec"]
    assert set(denied["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in denied
    assert "egress" not in denied
    reached = [each for each in policies.values() if "ingress" in each["spec"]]
    assert all(rule["from"] and rule["ports"] for each in reached for rule in each["spec"]["ingress"])
    (ingress,) = of_kind(resources, "Ingress").values()
    hosts = {rule["host"] for rule in ingress["spec"]["rules"]}
    assert hosts == {host for tls in ingress["spec"]["tls"] for host in tls["hosts"]}
    paths = [each["path"] for rule in ingress["spec"]["rules"] for each in rule["http"]["paths"]]
    assert "/v1" in paths
    assert not [path for path in paths if path.startswith(("/metrics", "/readyz", "/servingz"))]


def test_traces_reach_their_receiver_where_the_component_is_taken(tmp_path):
    traced = overlay(tmp_path, components=[os.path.relpath(KUBERNETES / "components" / "traces", tmp_path)])
    (policy,) = (each["spec"] for name, each in of_kind(traced, "NetworkPolicy").items() if name == "traces")
    (told,) = (each["data"] for name, each in of_kind(traced, "ConfigMap").items() if "settings" in name)
    (rule,) = policy["egress"]
    assert told["OTEL_EXPORTER_OTLP_ENDPOINT"].endswith(f":{rule['ports'][0]['port']}")
    assert told["TRADEWIND_SWEEP_INTERVAL_S"]
    (chosen,) = policy["podSelector"]["matchExpressions"]
    assert set(chosen["values"]) == PROCESSES - {"beat"}


@pytest.fixture
def watched(tmp_path):
    """What the component for the Prometheus operator brings."""
    return overlay(tmp_path, components=[os.path.relpath(OPERATOR, tmp_path)])


def test_alerts_in_a_cluster_are_those_of_compose(watched):
    (rule,) = of_kind(watched, "PrometheusRule").values()
    assert rule["spec"] == yaml.safe_load(prometheus_rule.ALERTS.read_text(encoding="utf-8"))
    assert prometheus_rule.RULE.read_text(encoding="utf-8") == prometheus_rule.render_rule()


def test_jobs_in_a_cluster_are_those_of_compose(watched):
    monitors = [*of_kind(watched, "ServiceMonitor").values(), *of_kind(watched, "PodMonitor").values()]
    endpoints = [
        each for one in monitors for each in one["spec"].get("endpoints", ()) or one["spec"]["podMetricsEndpoints"]
    ]
    in_compose = yaml.safe_load((ROOT / "infra" / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    jobs = [relabelled["replacement"] for each in endpoints for relabelled in each["relabelings"]]
    assert sorted(jobs) == sorted(each["job_name"] for each in in_compose["scrape_configs"])
    pods_of = {name: one["spec"]["selector"] for name, one in of_kind(watched, "PodMonitor").items()}
    for name, selector in pods_of.items():
        assert selector["matchLabels"]["app.kubernetes.io/component"] == name
        assert name in pods(watched)


def test_the_dashboard_in_a_cluster_is_that_of_compose(watched):
    (told,) = (each["data"] for name, each in of_kind(watched, "ConfigMap").items() if "dashboard" in name)
    dashboard = ROOT / "infra" / "grafana" / "dashboards" / "tradewind.json"
    assert json.loads(told["tradewind.json"]) == json.loads(dashboard.read_text(encoding="utf-8"))


def test_scaled_deployments_have_no_fixed_replicas_and_the_schedule_has_one(resources):
    deployments = of_kind(resources, "Deployment")
    assert "replicas" not in deployments["api"]["spec"]
    assert "replicas" not in deployments["worker"]["spec"]
    assert deployments["beat"]["spec"]["replicas"] == 1
    assert deployments["beat"]["spec"]["strategy"] == {"type": "Recreate"}
    scaled = [of_kind(resources, "HorizontalPodAutoscaler")["api"], *of_kind(resources, "ScaledObject").values()]
    assert {scaler["spec"]["scaleTargetRef"]["name"] for scaler in scaled} <= set(deployments)
    assert of_kind(resources, "PodDisruptionBudget")["api"]["spec"]["maxUnavailable"] == 1


def test_workers_are_scaled_by_metrics_that_the_service_exposes(resources):
    told = (ROOT / "services" / "observability" / "telemetry.py").read_text(encoding="utf-8")
    for scaled in of_kind(resources, "ScaledObject").values():
        (trigger,) = scaled["spec"]["triggers"]
        for name in ("queue_jobs", "taken_jobs"):
            assert f"tradewind_{name}" in trigger["metadata"]["query"]
            assert f'"{name}"' in told
