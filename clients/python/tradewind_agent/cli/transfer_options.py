"""The options of any transfer, by the engine or by another tool: SLA, ends, path, limits."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import GroupOf
from tradewind_agent.cli.resource_options import ApplyResources, Resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tradewind_agent.copy.options import CopyOptions


_LABEL_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,49}")
_MOST_LABELS = 20


def build_transfer_options(
    *,
    sla: options.SlaOption,
    max_concurrency: Annotated[int | None, typer.Option(min=1, max=32767, help="Recommend no more than this.")] = None,
    source: Annotated[str | None, typer.Option(help="Endpoint name of the sender; by default its host.")] = None,
    destination: Annotated[str | None, typer.Option(help="Endpoint name of the receiver; by default its host.")] = None,
    network: options.Network = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="What the transfer belongs to, such as project=storm. May repeat."),
    ] = None,
    path: options.KnownPath,
    load: options.Load = None,
    resources: Resources,
    apply_resources: ApplyResources = None,
    tick: Annotated[str | None, typer.Option(hidden=True, metavar="TIME", help="Time between two samples.")] = None,
) -> "CopyOptions":
    """Return the options of a transfer; a command adds its own."""
    from tradewind.parameters import Caps
    from tradewind_agent.copy.options import CopyOptions

    return CopyOptions(
        sla=sla,
        source=source,
        destination=destination,
        network=network,
        labels=parse_labels(label or ()),
        bandwidth_bps=path.bandwidth_bps,
        rtt_s=path.rtt_s,
        load=load,
        limits=Caps(concurrency=max_concurrency),
        resources=resources,
        apply_resources=apply_resources,
        tick_s=None if tick is None else options.parse_duration_s("--tick", tick),
    )


def parse_labels(texts: "Sequence[str]") -> "Mapping[str, str]":
    """Return labels that are written as ``key=value``.

    Raises
    ------
    typer.BadParameter : another form, a key twice, or too many.
    """
    labels: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or _LABEL_KEY.fullmatch(key) is None or not value or not value.isprintable():
            example = "write it like project=storm, with up to 50 letters, digits, . _ - as key"
            raise typer.BadParameter(f"{text!r} is no label; {example}", param_hint="--label")
        if key in labels:
            raise typer.BadParameter(f"names {key} twice", param_hint="--label")
        labels[key] = value
    if len(labels) > _MOST_LABELS:
        raise typer.BadParameter(f"a transfer has {_MOST_LABELS} at most", param_hint="--label")
    return labels


TransferOptions = Annotated["CopyOptions", GroupOf(build_transfer_options)]
