"""A migration that databases may have run does not change."""

from infra.checks.frozen_migrations import Digests, find_changes, parse_digests

ONE, TWO = Digests("a" * 64, "b" * 64), Digests("c" * 64, "d" * 64)
KEPT = {"2026_01_01_0000": ONE, "2026_01_02_0000": TWO}


def test_migrations_that_are_as_they_were_may_stay():
    assert (
        list(
            find_changes(KEPT, parse_digests("\n".join(f"{name}  {one.file}  {one.sql}" for name, one in KEPT.items())))
        )
        == []
    )


def test_an_edited_file_is_refused():
    (found,) = find_changes(KEPT, KEPT | {"2026_01_01_0000": ONE._replace(file="0" * 64)})
    assert found.startswith("2026_01_01_0000: its file was changed")


def test_an_edited_module_that_migrations_share_is_refused():
    (found,) = find_changes(KEPT, KEPT | {"2026_01_02_0000": TWO._replace(sql="0" * 64)})
    assert found.startswith("2026_01_02_0000: its imports make other SQL")


def test_a_migration_that_is_gone_is_refused():
    (found,) = find_changes(KEPT, {"2026_01_01_0000": ONE})
    assert found.startswith("2026_01_02_0000: was removed")


def test_a_new_migration_needs_a_line():
    (found,) = find_changes(KEPT, KEPT | {"2026_01_03_0000": ONE})
    assert found.endswith("python -m infra.checks.frozen_migrations --write")
