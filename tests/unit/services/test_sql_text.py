"""The word that a statement begins with, behind blanks and comments as PostgreSQL reads them."""

import time

import pytest

from services.persistence.warehouse.explained import is_explain
from services.persistence.warehouse.row_sizes import Column
from services.persistence.warehouse.sql_text import find_first_word

PLAN = [Column("QUERY PLAN", 25)]


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        (" \t\n\r\f\vexplain(costs off) SELECT 1", "explain"),
        ("/**/ SELECT 1 /**/ explain", "SELECT"),
        ("/* /* */ EXPLAIN */ SELECT 1", "SELECT"),
        ("/* /* */ SELECT */ EXPLAIN SELECT 1", "EXPLAIN"),
        ("/*/ EXPLAIN */ SELECT 1", "SELECT"),
        ("/***/EXPLAIN SELECT 1", "EXPLAIN"),
        ("/* -- */ SELECT 1 -- */ EXPLAIN", "SELECT"),
        ("-- /*\nSELECT 1 /* */ explain", "SELECT"),
        ("--\rSELECT 1 --\n explain", "SELECT"),
        ("--\u2028SELECT 1\nEXPLAIN SELECT 1", "EXPLAIN"),
        ("EXPLAIN/**/SELECT 1", "EXPLAIN"),
        ("EXPLAIN$1", "EXPLAIN$1"),
        ("explained", "explained"),
        ("\xa0EXPLAIN", "\xa0EXPLAIN"),
        ("(SELECT 1) explain", ""),
        ("'a' EXPLAIN", ""),
        ('"EXPLAIN"', ""),
        ("; EXPLAIN SELECT 1", ""),
        ("/* EXPLAIN", ""),
        ("-- EXPLAIN", ""),
        ("", ""),
    ],
)
def test_the_first_word_is_what_postgresql_reads_first(statement: str, word: str) -> None:
    assert find_first_word(statement) == word


@pytest.mark.parametrize("comment", ["/**/", "/* /* */ */", "--\n", " ", "/*", "*/"])
def test_many_comments_take_linear_time(comment: str) -> None:
    begin_s = time.monotonic()
    find_first_word(comment * 200_000 + "SELECT")
    assert time.monotonic() - begin_s < 5.0


def test_a_plan_has_its_word_and_its_one_column() -> None:
    assert is_explain("/* a */ Explain SELECT 1", PLAN)
    assert not is_explain("SELECT 1", PLAN)
    assert not is_explain("EXPLAIN SELECT 1", [Column("explain", 25)])
    assert not is_explain("EXPLAIN SELECT 1", [*PLAN, *PLAN])
