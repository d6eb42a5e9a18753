"""Globs on paths: which files they match, and which folders need not be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind_agent.engine.remote.path_selection import Excluded, PathGlob, PathSelection, Selecting

PATHS = ("a.nc", "b.txt", "data/a.nc", "data/deep/a.nc", "other/data/a.nc", "data.nc/b.txt", "data")


@pytest.mark.parametrize(
    ("glob", "matched"),
    [
        ("*.nc", {"a.nc", "data/a.nc", "data/deep/a.nc", "other/data/a.nc"}),
        ("/*.nc", {"a.nc"}),
        ("data", {"data"}),
        ("data/", {"data/a.nc", "data/deep/a.nc", "other/data/a.nc"}),
        ("/data/", {"data/a.nc", "data/deep/a.nc"}),
        ("data/*", {"data/a.nc"}),
        ("data/*.nc", {"data/a.nc"}),
        ("data/**", {"data/a.nc", "data/deep/a.nc"}),
        ("data/**/a.nc", {"data/a.nc", "data/deep/a.nc"}),
        ("**/data/*.nc", {"data/a.nc", "other/data/a.nc"}),
        ("**", set(PATHS)),
        ("**/**/a.nc", {"a.nc", "data/a.nc", "data/deep/a.nc", "other/data/a.nc"}),
        ("?.[!n]*", {"b.txt", "data.nc/b.txt"}),
        ("*", set(PATHS)),
        ("*/*", {"data/a.nc", "data.nc/b.txt"}),
        ("A.NC", set()),
    ],
)
def test_a_glob_matches_these_paths(glob: str, matched: set[str]):
    assert {path for path in PATHS if PathGlob(glob).matches(path)} == matched


def test_odd_names_are_compared_as_they_are():
    assert PathGlob("[*]x").matches("d/*x")
    assert PathGlob("*.n\\c").matches("a.n\\c")
    assert PathGlob("a*b").matches("a\nb")
    assert PathGlob("*.bin").matches("\udcff.bin")


@pytest.mark.parametrize("glob", ["", "/", "//", "a//b", "../a", "./a", "a/..", "a\0b"])
def test_a_glob_that_no_path_matches_is_refused(glob: str):
    with pytest.raises(InvalidValue, match="matches no path"):
        PathGlob(glob)


@pytest.mark.parametrize("glob", ["[", "a[b", "data/[0-9/*.nc", "[]", "[!]"])
def test_set_that_is_not_closed_is_refused_with_how_to_write_the_character(glob: str):
    with pytest.raises(InvalidValue, match=r"does not close it; write \[\[\] for the character"):
        PathGlob(glob)


@pytest.mark.parametrize("glob", ["[[]x", "[]]x", "[!]]x", "x]", "[0-9]x"])
def test_closed_set_is_a_glob(glob: str):
    PathGlob(glob)


def test_a_file_needs_an_include_and_no_exclude():
    selection = PathSelection.parse(["*.nc", "*.txt"], ["data/deep/", "b.*"])
    assert [path for path in PATHS if selection.selects(path)] == ["a.nc", "data/a.nc", "other/data/a.nc"]


@pytest.mark.parametrize(
    ("includes", "excludes", "folder", "may_hold"),
    [
        ([], [], "a", True),
        (["*.nc"], [], "a/b", True),
        (["data/*.nc"], [], "data", True),
        (["data/*.nc"], [], "other", False),
        (["data/*.nc"], [], "data/deep", False),
        (["data/**"], [], "data/deep/er", True),
        ([], ["*"], "a", True),
        ([], [".git/"], "a/.git", False),
        ([], [".git/"], "a/.git/b", False),
        ([], ["data/**"], "data", False),
        ([], ["data/*"], "data", True),
        ([], ["**"], "data", False),
        (["a/b/c"], [], "a/b", True),
        (["a/b/c"], [], "a/b/c", False),
    ],
)
def test_a_folder_is_left_out_where_it_certainly_holds_nothing(
    includes: list[str], excludes: list[str], folder: str, *, may_hold: bool
):
    assert PathSelection.parse(includes, excludes).may_hold(folder) is may_hold


NAMES = st.sampled_from(["a", "b", "ab"])
GLOBS = st.lists(st.sampled_from(["a", "b", "a*", "**", "?"]), min_size=1, max_size=4).flatmap(
    lambda names: st.sampled_from(["/".join(names), "/".join(names) + "/", "/" + "/".join(names)])
)


@given(st.lists(GLOBS, max_size=2), st.lists(GLOBS, max_size=2), st.lists(NAMES, min_size=1, max_size=5))
def test_folders_above_a_selected_file_are_always_read(includes: list[str], excludes: list[str], names: list[str]):
    selection = PathSelection.parse(includes, excludes)
    if selection.selects("/".join(names)):
        assert all(selection.may_hold("/".join(names[:depth])) for depth in range(len(names)))


def test_excluded_files_and_folders_are_counted():
    selecting = Selecting(PathSelection.parse(["*.nc"], ["raw/"]))
    assert [selecting.take_file(path) for path in ("a.nc", "b.txt")] == [True, False]
    assert [selecting.take_folder(path) for path in ("raw", "fine")] == [False, True]
    assert selecting.excluded + Excluded(1, 1) == Excluded(2, 2)
