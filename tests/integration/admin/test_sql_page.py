"""The page of SQL: rows, charts, files and saved queries; and what is refused, with nothing changed."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from uuid import uuid4

import httpx
import psycopg
import pyarrow as pa
import pytest

from services.admin.pages.sql import LONGEST_SQL
from services.application.warehouse.query import QueryLimits
from services.application.warehouse.saved_queries import MAX_SAVED
from services.bootstrap import Container, Options, build_container
from tests.conditions import eventually
from tests.integration.admin.visitors import Visitor, person, signed_in
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant, serving

__all__ = ["api", "parts", "provider"]

HERE = "/admin/sql"
LIMITS = QueryLimits(rows=3_000, seconds=2.0, at_once=4)


@pytest.fixture
def analyst(parts: Container, api: str, provider: Tenant) -> Iterator[Visitor]:
    with signed_in(api, person(parts, provider, "analyst")) as visitor:
        yield visitor


def run(visitor: Visitor, sql: str, **asked: str) -> httpx.Response:
    return visitor.submit(f"{HERE}/run", sql=sql, **asked)


def cells(page: httpx.Response) -> list[list[str]]:
    assert page.status_code == 200, page.text
    body = page.text.partition('id="answer"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[unescape(each) for each in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def drawn(page: httpx.Response) -> dict:
    return json.loads(unescape(re.search(r'data-chart="([^"]*)"', page.text)[1]))


def test_rows_are_shown_as_the_api_answers_them(analyst):
    sql = "SELECT chunk, count(*) AS transfers, NULL AS nothing, 0.1::float8 AS share FROM transfers GROUP BY 1"
    names, *rows = cells(run(analyst, sql))
    assert names == ["chunk", "transfers", "nothing", "share"]
    assert [row[1:] for row in rows] == [["5", "–", "0.1"]]


def test_two_columns_of_one_name_stay_two(analyst):
    assert cells(run(analyst, "SELECT 1 AS a, 2 AS a")) == [["a", "a_2"], ["1", "2"]]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("repeat('9', 5000)::numeric", "9" * 400 + "…"),
        ("'-1e400'::numeric + 0.5", "-" + "9" * 399 + "…"),
        ("""'{"a": {"b": [1, null]}}'::json""", '{"a": {"b": [1, null]}}'),
        ("ARRAY['a', NULL]", '["a", null]'),
        (r"""'"\ud800"'::json""", r"\ud800"),
    ],
)
def test_values_beyond_python_or_chart_types_are_shown_as_text(analyst, value, told):
    page = run(analyst, f"SELECT n, n * 2 AS twice, {value} AS odd FROM generate_series(1, 3) n")
    assert [row[2] for row in cells(page)] == ["odd", told, told, told]
    assert drawn(page)["series"]


def test_json_too_deep_for_a_page_leaves_the_query_in_the_editor(analyst):
    page = run(analyst, "SELECT (repeat('[', 2000) || repeat(']', 2000))::json AS deep")
    assert page.status_code == 422
    assert "too deep for a page; download it" in page.text
    assert "AS deep</textarea>" in page.text


def test_views_columns_and_limits_are_described(analyst):
    page = analyst.get(HERE).text
    assert "bit/s: mean over the transfer." in page
    assert "A query may take 2 s" in page


@pytest.mark.parametrize(
    ("sql", "draw", "kind"),
    [
        ("SELECT date '2026-11-01' + n AS day, n AS moved FROM generate_series(1, 9) n", "", "line"),
        ("SELECT 'site ' || n AS site, n AS moved FROM generate_series(1, 9) n", "", "bar"),
        ("SELECT n AS files, n * n AS rate FROM generate_series(1, 9) n", "", "scatter"),
        ("SELECT n AS files, n * n AS rate FROM generate_series(1, 9) n", "lines", "line"),
    ],
)
def test_a_chart_follows_from_the_columns_or_is_chosen(analyst, sql, draw, kind):
    (series,) = drawn(run(analyst, sql, draw=draw))["series"]
    assert series["type"] == kind
    assert len(series["data"]) == 9


def test_page_states_that_a_result_has_more_rows_than_it_shows(analyst):
    page = run(analyst, "SELECT n FROM generate_series(1, 3000) n", shown="100")
    assert len(cells(page)) == 101
    assert "100 rows, the first of more" in page.text


@pytest.mark.parametrize("shown", ["0", "2001", "-1", "many"])
def test_another_number_of_rows_than_offered_is_refused(analyst, shown):
    assert run(analyst, "SELECT 1", shown=shown).status_code == 422


def test_an_answer_too_large_for_a_page_is_refused(analyst):
    page = run(analyst, "SELECT repeat('x', 100000) FROM generate_series(1, 100)")
    assert page.status_code == 413
    assert "more than the 4.19 MB that a page shows" in page.text


def test_sql_error_is_shown_at_its_position(analyst):
    page = run(analyst, "SELECT 1,\r\n       nonsense\r\n  FROM transfers")
    assert page.status_code == 422
    assert "column &#34;nonsense&#34; does not exist" in page.text
    assert 'data-position="18"' in page.text
    assert "line 2:        nonsense\n               ^" in page.text
    assert "nonsense\n  FROM transfers</textarea>" in page.text


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM transfers RETURNING id",
        "WITH gone AS (DELETE FROM public.links RETURNING id) SELECT * FROM gone",
        "SELECT 1; DELETE FROM transfers",
        "SELECT rolpassword FROM pg_authid",
        "SELECT * FROM public.users",
        "SELECT * FROM public.saved_queries",
        "SELECT set_config('role', 'tradewind_app', false)",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
def test_sql_that_writes_or_reads_other_tenants_data_is_refused(analyst, sql):
    page = run(analyst, sql)
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert cells(run(analyst, "SELECT count(*) FROM transfers")) == [["count"], ["5"]]


def test_another_tenants_rows_are_not_seen(analyst, parts, api, tenant):
    with signed_in(api, person(parts, tenant, "analyst")) as stranger:
        assert cells(run(stranger, "SELECT count(*) FROM transfers")) == [["count"], ["0"]]
        attempt = f"SELECT set_config('tradewind.tenant', '{uuid4()}', false), count(*) FROM transfers"
        assert run(stranger, attempt).status_code == 422


def test_endless_query_is_stopped_at_the_time_limit(analyst):
    page = run(analyst, "SELECT pg_sleep(60)")
    assert page.status_code == 422
    assert "the query was stopped after 2 s, the limit" in page.text


def test_a_query_ends_in_the_database_when_its_visitor_leaves(
    parts, database_url, redis_url, provider, admin_database_url
):
    limits = QueryLimits(rows=10, seconds=200.0)
    with (
        build_container(database_url=database_url, redis_url=redis_url, options=Options(query_limits=limits)) as built,
        serving(built) as url,
    ):
        with signed_in(url, person(parts, provider, "analyst")) as visitor, ThreadPoolExecutor(1) as aside:
            token = visitor.token
            fields = {"sql": "SELECT pg_sleep(199) AS abandoned_by_a_page", "form_token": token}
            asking = aside.submit(visitor.post, f"{HERE}/run", data=fields, timeout=1.0)
            assert isinstance(asking.exception(), httpx.ReadTimeout)
        with psycopg.connect(admin_database_url, autocommit=True) as watching:
            query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%abandoned_by_a_page%'"
            eventually(lambda: watching.execute(query).fetchone() == (0,))


def test_script_in_a_value_or_a_name_stays_text(analyst):
    script = "<script>alert(1)</script>"
    page = run(analyst, f"SELECT '{script}' AS \"{script}\", 1 AS n UNION ALL SELECT '</textarea>{script}', 2")
    assert script not in page.text.partition('id="answer"')[2]
    assert drawn(page)["xAxis"]["data"][0] == script
    assert page.text.count(script) == 0
    analyst.submit(f"{HERE}/save", sql=f"SELECT '{script}'", name=script)
    assert script not in analyst.get(HERE).text


def test_rows_are_downloaded_under_the_limits_of_the_api(analyst):
    fields = {"sql": "SELECT n FROM generate_series(1, 2500) n", "name": ""}
    answer = analyst.submit(f"{HERE}/download", form="csv", **fields)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="tradewind.csv"'
    assert answer.text.count("\n") == 2501
    arrow = analyst.submit(f"{HERE}/download", form="arrow", **fields).content
    assert pa.ipc.open_stream(arrow).read_all().num_rows == 2500
    more = analyst.submit(f"{HERE}/download", form="csv", sql="SELECT * FROM generate_series(1, 3001)")
    assert more.status_code == 413
    assert "more than 3000 rows" in more.text
    assert "generate_series(1, 3001)</textarea>" in more.text
    assert analyst.submit(f"{HERE}/download", form="xml", **fields).status_code == 422


def test_refused_download_shows_the_error_and_the_typed_sql(analyst):
    page = analyst.submit(f"{HERE}/download", form="arrow", sql="SELECT 1,\r\n       nonsense\r\n  FROM transfers")
    assert page.status_code == 422
    assert "column &#34;nonsense&#34; does not exist" in page.text
    assert "line 2:        nonsense\n               ^" in page.text
    assert "nonsense\n  FROM transfers</textarea>" in page.text
    assert '<option value="arrow" selected>' in page.text
    assert "Content-Disposition" not in page.headers


@pytest.mark.parametrize("named", [{"name": ""}, {"name": "  "}, {}])
def test_a_query_without_a_name_is_not_saved_and_stays_in_the_editor(analyst, named):
    refused = analyst.submit(f"{HERE}/save", sql="SELECT 'not yet named'", **named)
    assert refused.status_code == 422
    assert "Name is blank; type one" in refused.text
    assert "SELECT &#39;not yet named&#39;</textarea>" in refused.text


def test_the_length_of_a_query_is_that_of_its_text_in_the_browser(analyst):
    sql = "SELECT 1" + "\r\n" * (LONGEST_SQL - len("SELECT 1"))
    assert cells(run(analyst, sql)) == [["?column?"], ["1"]]
    assert run(analyst, sql + "\r\n").status_code == 422


def test_a_saved_query_is_its_tenants_to_read_and_its_authors_to_change(analyst, parts, api, provider, tenant):
    name = f"mine {uuid4()}"
    kept = analyst.submit(f"{HERE}/save", sql="SELECT 1 AS first", name=name)
    assert kept.status_code == 303
    assert "SELECT 1 AS first</textarea>" in analyst.get(kept.headers["Location"]).text
    again = analyst.submit(f"{HERE}/save", sql="SELECT 2 AS second", name=name)
    assert "The saved query of that name is replaced." in analyst.get(again.headers["Location"]).text
    query_id = kept.headers["Location"].rpartition("=")[2]
    with signed_in(api, person(parts, provider, "analyst")) as colleague:
        assert "SELECT 2 AS second</textarea>" in colleague.get(f"{HERE}?saved={query_id}").text
        refused = colleague.submit(f"{HERE}/save", sql="SELECT 3", name=name)
        assert refused.status_code == 409
        assert "somebody else has saved a query as" in refused.text
        assert "SELECT 3</textarea>" in refused.text
        assert colleague.submit(f"{HERE}/saved/{query_id}/remove").status_code == 403
    with signed_in(api, person(parts, tenant, "analyst")) as stranger:
        assert stranger.get(f"{HERE}?saved={query_id}").status_code == 404
        assert stranger.submit(f"{HERE}/saved/{query_id}/remove").status_code == 404
    assert "SELECT 2 AS second</textarea>" in analyst.get(f"{HERE}?saved={query_id}").text
    with signed_in(api, person(parts, provider, "operator")) as operator:
        assert operator.submit(f"{HERE}/saved/{query_id}/remove").status_code == 303
        audit = operator.get("/admin/audit?about=saved_query").text
    assert "query removed" in audit
    assert analyst.get(f"{HERE}?saved={query_id}").status_code == 404


def test_with_as_many_queries_as_may_be_saved_ones_own_is_still_replaced(parts, api, tenant):
    with signed_in(api, person(parts, tenant, "analyst")) as visitor:
        visitor.submit(f"{HERE}/save", sql="SELECT 1", name="mine")
        with parts.store.unit_of_work(tenant.id) as uow:
            author_id = uow.saved_queries.list_all()[0].author_id
            for number in range(1, MAX_SAVED):
                uow.saved_queries.put(str(number), "SELECT 1", author_id=author_id, at=parts.clock.now())
            uow.commit()
        assert "queries are saved already" in visitor.submit(f"{HERE}/save", sql="SELECT 2", name="another").text
        assert visitor.submit(f"{HERE}/save", sql="SELECT 2", name="mine").status_code == 303


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"sql": "SELECT 1", "name": ""}, "Name"),
        ({"sql": "SELECT 1", "name": "   "}, "Name"),
        ({"sql": "SELECT 1", "name": "a\nb"}, "Name"),
        ({"sql": "SELECT 1", "name": "x" * 101}, "Name"),
        ({"sql": "SELECT '\0'", "name": "a"}, "Query"),
        ({"sql": "x" * 20_001, "name": "a"}, "Query"),
    ],
)
def test_invalid_saved_query_is_refused_with_its_field(analyst, parts, provider, fields, field):
    def list_saved_queries():
        with parts.store.unit_of_work(provider.id) as uow:
            return uow.saved_queries.list_all()

    before = list_saved_queries()
    answer = analyst.submit(f"{HERE}/save", **fields)
    assert answer.status_code == 422
    assert re.search(rf'role="alert">(<strong>)?{field} (must|is) ', answer.text)
    assert list_saved_queries() == before


def test_those_who_are_no_analysts_are_refused(parts, api, provider):
    with signed_in(api, person(parts, provider, "provider")) as visitor:
        assert HERE not in visitor.get("/admin").text
        assert visitor.get(HERE).status_code == 403
        for what in ("run", "download", "save"):
            assert visitor.submit(f"{HERE}/{what}", sql="SELECT 1", name="a").status_code == 403


def test_a_form_of_another_session_runs_nothing(analyst):
    answer = analyst.post(f"{HERE}/run", data={"sql": "SELECT 1", "form_token": "0" * 64})
    assert answer.status_code == 403


def address_of(page: httpx.Response) -> str:
    return unescape(re.search(r'<a href="([^"]+)" data-address>', page.text)[1])


def test_address_of_a_query_opens_it_with_its_chart_and_runs_nothing(analyst):
    sql = "SELECT n AS x, n * n AS y FROM generate_series(1, 3) n -- 100 % & more"
    answer = run(analyst, sql, draw="points", up="y", shown="500")
    opened = analyst.get(address_of(answer))
    assert opened.status_code == 200
    assert unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", opened.text, re.DOTALL)[1]) == sql
    assert "<option selected>points</option>" in opened.text
    assert '<option value="500" selected>' in opened.text
    assert 'id="answer"' not in opened.text
    assert address_of(run(analyst, "SELECT 1")) == "/admin/sql?sql=SELECT+1"


def test_query_that_is_too_long_for_an_address_is_shared_by_saving_it(analyst):
    answer = run(analyst, f"SELECT 1 -- {'x' * 6_000}")
    assert "data-address" not in answer.text
    assert "save it" in answer.text


def test_page_says_what_it_limits(analyst):
    text = run(analyst, "SELECT n FROM generate_series(1, 150) n").text
    assert "may take 2 s" in text
    assert "up to 2\u202f000 rows" in text
    assert "100 rows, the first of more" in text


def test_unreadable_settings_of_an_address_are_left_out(analyst):
    page = analyst.get(HERE, params={"sql": "SELECT 1", "shown": "many", "draw": "planet"})
    assert page.status_code == 200
    assert '<option value="100" selected>' in page.text
