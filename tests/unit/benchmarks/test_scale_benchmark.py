"""Rows by the million are drawn from the law that single records are drawn from."""

import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID

import numpy as np
import pytest

from benchmarks.scale.growth import read_stored_figures
from benchmarks.scale.rows import COLUMNS, Laws, Span, draw_csv_blocks
from benchmarks.scale.stored_logs import ROW_SOURCES
from benchmarks.support.stored_database import digest_row_sources, is_current
from benchmarks.support.workload import CONCURRENCIES, MEAN_FILE_BYTES, PARALLELISMS, PIPELININGS, draw_link_laws
from services.persistence.schema import read_head_revision

SETTINGS = [(cc, p, pp) for cc in CONCURRENCIES for p in PARALLELISMS for pp in PIPELININGS]


def test_the_law_for_arrays_is_the_law_of_single_records():
    law = draw_link_laws(1, seed=3)[0]
    for mean_file_bytes in MEAN_FILE_BYTES:
        alone = [law.compute_throughput_bps(*setting, mean_file_bytes, 0.2) for setting in SETTINGS]
        columns = np.array(SETTINGS, dtype=float).T
        assert Laws.of([law]).compute_throughput_bps(*columns, mean_file_bytes, np.array(0.2)) == pytest.approx(
            alone, rel=1e-12
        )


def test_rows_begin_in_order_in_their_span_on_the_links_that_are_given():
    ids, starts_at = [UUID(int=1), UUID(int=2)], datetime(2026, 3, 1, tzinfo=UTC)
    span = Span(starts_at, timedelta(days=2))
    blocks = draw_csv_blocks(
        500, laws=draw_link_laws(2, 1), link_ids=ids, span=span, tenant_id=UUID(int=7), batch_id=UUID(int=8), seed=1
    )
    rows = list(csv.DictReader(StringIO(b"".join(blocks).decode()), COLUMNS))
    started = [datetime.fromisoformat(row["started_at"]) for row in rows]
    assert len(rows) == len({row["id"] for row in rows}) == 500
    assert {UUID(row["link_id"]) for row in rows} == set(ids)
    assert started == sorted(started)
    assert starts_at == started[0] < started[-1] < starts_at + span.lasts
    assert all(float(row["throughput_bps"]) > 0 for row in rows)


def test_figures_are_taken_over_from_the_same_commit_and_never_from_a_changed_tree(tmp_path):
    file = tmp_path / "kept.json"
    assert read_stored_figures(file, of="a1") is None
    for commit in ("a1", "a1-dirty", "unknown"):
        file.write_text(json.dumps({"commit": commit}))
        assert (read_stored_figures(file, of=commit) is not None) == (commit == "a1")
    assert read_stored_figures(file, of="b2") is None


def test_stored_rows_outlive_new_migrations_and_nothing_else(tmp_path):
    file, makers = tmp_path / "made-by", {"2026_01_01_0000": "a", "rows": "1"}
    assert not is_current(file, makers)
    file.write_text(json.dumps(makers))
    assert is_current(file, makers | {"2026_01_02_0000": "b"})
    assert not is_current(file, makers | {"rows": "2"})
    assert not is_current(file, {"rows": "1"})


def test_rows_depend_on_their_seed_and_on_every_migration():
    makers = digest_row_sources(ROW_SOURCES, "1")
    assert read_head_revision() in makers
    assert digest_row_sources(ROW_SOURCES, "2").items() != makers.items()
