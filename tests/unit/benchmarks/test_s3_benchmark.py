"""The benchmark of object stores: how tools are set, and which figures the rates of a cell give."""

from pathlib import Path

import pytest

from benchmarks.s3.cell_bench import Contender
from benchmarks.s3.tools import STORE_TOOLS, Places
from benchmarks.s3.wide_area import OURS_WITH_HISTORY, PathPlan, compare_medians, summarise
from benchmarks.support.direction import Direction
from tradewind.parameters import Parameters

TOOLS = {tool.name: tool for tool in STORE_TOOLS}
SETTING = Parameters(concurrency=8, parallelism=2, pipelining=4)
PLACES = Places("http://store", "set/", Path("/got"))


@pytest.mark.parametrize("direction", list(Direction))
def test_setting_is_in_our_command(direction: Direction):
    contender = Contender(name="ours", tool=TOOLS["tradewind"], setting=SETTING)
    words = contender.build_command(direction, PLACES)
    assert words[-6:] == ["--concurrency", "8", "--parallelism", "2", "--pipelining", "4"]


def test_setting_of_aws_is_in_its_configuration(tmp_path: Path):
    contender = Contender(name="aws", tool=TOOLS["awscli"], setting=Parameters(concurrency=8))
    environment = contender.make_environment(tmp_path, "http://store")
    assert "max_concurrent_requests = 8" in Path(environment["AWS_CONFIG_FILE"]).read_text()
    assert contender.build_command(Direction.DOWN, PLACES) == list(TOOLS["awscli"].download(PLACES))


def test_tools_at_their_defaults_have_no_setting(tmp_path: Path):
    for tool in STORE_TOOLS:
        contender = Contender(name=tool.name, tool=tool)
        assert contender.build_command(Direction.UP, PLACES) == list(tool.upload(PLACES))
        assert Path(contender.make_environment(tmp_path, "http://store")["AWS_CONFIG_FILE"]).read_text() == ""


DEFAULTS = {"tradewind": 50.0, "awscli": 40.0, "rclone": 80.0, "s3cmd": 10.0, "boto3[crt]": 60.0}


def test_oracle_is_the_best_fixed_setting_of_any_tool():
    medians = {**DEFAULTS, "best tradewind": 100.0, "best rclone": 90.0, OURS_WITH_HISTORY: 95.0}
    assert compare_medians(medians) == {
        "unseen_vs_best_default": 50 / 80,
        "vs_best_default": 95 / 80,
        "oracle_fraction": 0.95,
    }


def test_figures_without_history_are_those_of_the_unknown_path_alone():
    summary = summarise([compare_medians(DEFAULTS), compare_medians({**DEFAULTS, "tradewind": 100.0})])
    assert summary == {
        "cells": 2,
        "unseen_vs_best_default_min": 50 / 80,
        "unseen_vs_best_default_median": (50 / 80 + 100 / 80) / 2,
    }


def test_history_belongs_to_full_runs_alone():
    assert PathPlan.choose(1, quick=False, smoke=False).has_history
    assert not PathPlan.choose(1, quick=True, smoke=False).has_history
    assert not PathPlan.choose(1, quick=False, smoke=True).has_history
