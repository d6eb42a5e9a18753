"""Write the alerts of infra/prometheus as the Prometheus operator takes them: ``python -m infra.prometheus_rule``.

Kustomize can take a file as text only, and Prometheus' own file has no place for the name of a resource.
"""

import sys
from pathlib import Path
from textwrap import indent

INFRA = Path(__file__).resolve().parent
ALERTS = INFRA / "prometheus" / "alerts.yml"
RULE = INFRA / "kubernetes" / "components" / "prometheus-operator" / "alerts.yaml"
HEAD = """\
# Written by `python -m infra.prometheus_rule`, after a change of infra/prometheus/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: tradewind}
spec:
"""


def render_rule() -> str:
    """Return the same groups of rules as Prometheus reads from its file."""
    text = ALERTS.read_text(encoding="utf-8")
    return HEAD + indent(text[text.index("groups:") :], "  ")


def main() -> int:
    RULE.write_text(render_rule(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
