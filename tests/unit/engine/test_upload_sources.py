from pathlib import Path

import pytest

from tradewind_agent.engine.address import Url
from tradewind_agent.engine.source import list_uploads
from tradewind_agent.errors import UnusableSource

ONE_NAME = Url.parse("http://host.test/name")


def test_a_missing_source_is_named_whatever_the_destination(tmp_path: Path) -> None:
    with pytest.raises(UnusableSource, match="nothing does not exist"):
        list_uploads([tmp_path / "nothing"], ONE_NAME)


def test_a_folder_for_one_name_says_how_to_write_the_destination(tmp_path: Path) -> None:
    with pytest.raises(UnusableSource, match="end it with /"):
        list_uploads([tmp_path], ONE_NAME)
