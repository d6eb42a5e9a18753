"""A migration that databases may have run does not change."""

from infra.checks.frozen_migrations import Digests, recorded, refusals

ONE, TWO = Digests("a" * 64, "b" * 64), Digests("c" * 64, "d" * 64)
KEPT = {"2026_01_01_0000": ONE, "2026_01_02_0000": TWO}


def test_migrations_that_are_as_they_were_may_stay():
    assert (
        list(refusals(KEPT, recorded("\n".join(f"{name}  {one.file}  {one.sql}" for name, one in KEPT.items())))) == []
    )


def test_an_edited_file_is_refused():
    (found,) = refusals(KEPT, KEPT | {"2026_01_01_0000": ONE._replace(file="0" * 64)})
    assert found.startswith("2026_01_01_0000: its file was changed")


def test_an_edited_module_that_migrations_share_is_refused():
    (found,) = refusals(KEPT, KEPT | {"2026_01_02_0000": TWO._replace(sql="0" * 64)})
    assert found.startswith("2026_01_02_0000: what it imports")


def test_a_migration_that_is_gone_is_refused():
    (found,) = refusals(KEPT, {"2026_01_01_0000": ONE})
    assert found.startswith("2026_01_02_0000: was removed")


def test_a_new_migration_needs_a_line():
    (found,) = refusals(KEPT, KEPT | {"2026_01_03_0000": ONE})
    assert found.endswith("python -m infra.checks.frozen_migrations --write")
