"""The page of codecs: what was learned, and what is expected on paths of four rates."""

from uuid import uuid4

import pytest

from services.admin.formatting.field_labels import LABELS
from services.application.access.authenticate import Scope
from tests.integration.admin.visitors import person, signed_in
from tests.integration.api.test_compression_api import seen


@pytest.fixture
def visitor(parts, api, tenant):
    with signed_in(api, person(parts, tenant, Scope.ANALYST)) as opened:
        yield opened


def test_before_any_transfer_the_page_shows_what_the_packaged_measurements_predict(visitor):
    page = visitor.get("/admin/compression").text
    assert "Nothing learned yet" in page
    assert page.count("advised") >= 4
    assert "4 Mbit/s" in page
    assert "160 Mbit/s" in page


def test_observations_of_agents_are_listed_by_codec_and_change_the_prediction(api, tenant, visitor):
    machine = f"x86_64/machine-{uuid4().hex[:8]}/2"
    told = [seen("lz4", 9, ratio, 4e9, cpu_class=machine) for ratio in (20.0, 80.0)]
    with tenant.client(api) as agent:
        assert agent.post("/v1/compression/observations", json={"observations": told}).status_code == 201
    page = " ".join(visitor.get("/admin/compression").text.split())
    row = page[page.index('<th scope="row">lz4:9</th>') :].partition("</tr>")[0]
    assert '<td class="number">2</td>' in row
    assert '<td class="number">40.00</td>' in row
    assert "4 Gbit/s" in row
    assert f'<option value="{machine}" selected>' in page


@pytest.mark.parametrize("query", ["kind=x", f"machine={'x' * 101}"])
def test_content_and_machines_that_cannot_be_are_refused_by_their_name(visitor, query):
    refused = visitor.get(f"/admin/compression?{query}")
    assert refused.status_code == 422
    field = query.partition("=")[0]
    assert LABELS.get(field, field.capitalize()) in refused.text
