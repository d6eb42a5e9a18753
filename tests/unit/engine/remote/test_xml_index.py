"""Folders in XML: buckets of object stores, and WebDAV."""

from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.listing import parse_index
from tradewind_agent.engine.remote.xml_index import parse_multistatus
from tradewind_agent.errors import UnusableSource

BUCKET = Url.parse("http://store/bucket/")


def bucket_list(*keys: str, head: str = "") -> bytes:
    contents = "".join(
        f"<Contents><Key>{key}</Key><Size>{len(key)}</Size><ETag>&quot;e&quot;</ETag></Contents>" for key in keys
    )
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>bucket</Name>{head}{contents}</ListBucketResult>"
    ).encode()


def test_files_of_a_bucket_with_those_in_its_folders():
    page = parse_index(BUCKET, "application/xml", bucket_list("a.bin", "sub/b c.bin", "\u00fc+%"))
    found = [(entry.name, entry.size_bytes, entry.target, entry.etag) for entry in page.entries]
    assert found == [
        ("a.bin", 5, "/bucket/a.bin", '"e"'),
        ("sub/b c.bin", 11, "/bucket/sub/b%20c.bin", '"e"'),
        ("\u00fc+%", 3, "/bucket/%C3%BC%2B%25", '"e"'),
    ]
    assert page.next_page is None


def test_files_below_a_prefix_lose_it():
    url = Url.parse("http://store/bucket/?prefix=set/one/")
    page = parse_index(url, "text/xml", bucket_list("set/one/a", "set/one/b/c", head="<Prefix>set/one/</Prefix>"))
    assert [(entry.name, entry.target) for entry in page.entries] == [
        ("a", "/bucket/set/one/a"),
        ("b/c", "/bucket/set/one/b/c"),
    ]


def test_keys_may_be_escaped():
    head = "<EncodingType>url</EncodingType>"
    page = parse_index(BUCKET, "application/xml", bucket_list("a+b%2Fc%0A", head=head))
    assert [entry.name for entry in page.entries] == ["a b/c\n"]


@pytest.mark.parametrize(
    ("head", "query"),
    [
        ("<NextContinuationToken>t/1=</NextContinuationToken>", "list-type=2&prefix=p&continuation-token=t%2F1%3D"),
        ("<NextMarker>m n</NextMarker>", "list-type=2&prefix=p&marker=m+n"),
        ("", "list-type=2&prefix=p&marker=b"),
    ],
)
def test_listing_goes_on_with_its_next_page(head: str, query: str):
    url = Url.parse("http://store/?list-type=2&prefix=p")
    page = parse_index(url, "application/xml", bucket_list("a", "b", head=f"<IsTruncated>true</IsTruncated>{head}"))
    assert page.next_page is not None
    assert page.next_page.target == f"/?{query}"


def test_listing_by_folders_goes_on_with_all_keys():
    url = Url.parse("http://store/bucket/?prefix=set/&delimiter=/&marker=m")
    by_folder = "<Delimiter>/</Delimiter><CommonPrefixes><Prefix>set/sub/</Prefix></CommonPrefixes>"
    page = parse_index(url, "application/xml", bucket_list("set/a", head=by_folder))
    assert page.entries == ()
    assert page.next_page is not None
    assert page.next_page.target == "/bucket/?prefix=set%2F"


def test_listing_whose_list_of_folders_is_empty_is_that_of_all_keys():
    url = Url.parse("http://store/bucket/?prefix=set/")
    page = parse_index(url, "application/xml", bucket_list("set/a", head="<CommonPrefixes></CommonPrefixes>"))
    assert [entry.name for entry in page.entries] == ["set/a"]
    assert page.next_page is None


def test_cut_listing_that_leads_nowhere_is_refused():
    with pytest.raises(UnusableSource, match="does not say how to go on"):
        parse_index(BUCKET, "application/xml", bucket_list(head="<IsTruncated>true</IsTruncated>"))


def test_key_of_a_folder_that_has_bytes_is_left_out_by_name():
    empty = "<Contents><Key>e/</Key><Size>0</Size></Contents>"
    page = parse_index(BUCKET, "application/xml", bucket_list("good", "dir/", head=empty))
    assert [entry.name for entry in page.entries] == ["good"]
    assert [omission.place for omission in page.left_out] == ["http://store/bucket/dir/"]


@pytest.mark.parametrize("key", ["../evil", "a/../../b", "/etc/passwd", "a//b"])
def test_key_that_is_no_path_costs_its_entry(key: str):
    page = parse_index(BUCKET, "application/xml", bucket_list("good", key))
    assert [entry.name for entry in page.entries] == ["good"]
    assert len(page.left_out) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<Error><Code>NoSuchKey</Code></Error>", r"unknown form \(Error\)"),
        (b"<ListBucketResult>", "not understood"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult/>', "declarations"),
    ],
)
def test_other_xml_is_refused_in_one_line(body: bytes, reason: str):
    with pytest.raises(UnusableSource, match=reason):
        parse_index(BUCKET, "application/xml", body)


DAV = Url.parse("https://dav:8443/remote/set/")


def response(href: str, *, properties: str = "", is_folder: bool = False) -> str:
    kind = "<d:collection/>" if is_folder else ""
    return (
        f"<d:response><d:href>{href}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype>"
        f"{properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
    )


def multistatus(*responses: str) -> bytes:
    return f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{"".join(responses)}</d:multistatus>'.encode()


def test_folder_of_a_webdav_server():
    body = multistatus(
        response("/remote/set/", is_folder=True),
        response("/remote/set/sub/", is_folder=True),
        response("/remote/set/deep", is_folder=True),
        response(
            "/remote/set/a%20b.bin",
            properties="<d:getcontentlength>12</d:getcontentlength><d:getetag>&quot;e&quot;</d:getetag>",
        ),
        response("https://dav:8443/remote/set/c"),
    )
    page = parse_multistatus(DAV, body)
    found = [(entry.name, entry.is_folder, entry.size_bytes, entry.target) for entry in page.entries]
    assert found == [
        ("sub", True, None, "/remote/set/sub/"),
        ("deep", True, None, "/remote/set/deep/"),
        ("a b.bin", False, 12, "/remote/set/a%20b.bin"),
        ("c", False, None, "/remote/set/c"),
    ]
    assert page.entries[2].etag == '"e"'


@pytest.mark.parametrize("href", ["/elsewhere/x", "/remote/set/%2e%2e", "/remote/set/a%2Fb", "http://[::1/x"])
def test_place_outside_costs_its_entry(href: str):
    page = parse_multistatus(DAV, multistatus(response("/remote/set/good"), response(href)))
    assert [entry.name for entry in page.entries] == ["good"]
    assert len(page.left_out) == 1


def test_server_that_answers_deeper_than_requested_lists_its_folders_once():
    body = multistatus(
        response("/remote/set/", is_folder=True),
        response("/remote/set/sub/", is_folder=True),
        response("/remote/set/sub/deep", properties="<d:getcontentlength>1</d:getcontentlength>"),
    )
    page = parse_multistatus(DAV, body)
    assert [(entry.name, entry.is_folder) for entry in page.entries] == [("sub", True)]
    assert page.left_out == ()


def test_file_in_a_folder_that_is_not_listed_is_left_out():
    page = parse_multistatus(DAV, multistatus(response("/remote/set/sub/deep")))
    assert page.entries == ()
    assert len(page.left_out) == 1


@pytest.mark.parametrize("status", ["507 Insufficient Storage", "403 Forbidden"])
def test_list_that_the_server_cut_is_refused(status: str):
    cut = f"<d:response><d:href>/remote/set/</d:href><d:status>HTTP/1.1 {status}</d:status></d:response>"
    body = multistatus(response("/remote/set/", is_folder=True), response("/remote/set/a"), cut)
    with pytest.raises(UnusableSource, match=f"could not list all of it .{status}"):
        parse_multistatus(DAV, body)


def test_error_of_one_file_does_not_cost_the_list():
    refused = "<d:response><d:href>/remote/set/b</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>"
    page = parse_multistatus(DAV, multistatus(response("/remote/set/a"), refused))
    assert [entry.name for entry in page.entries] == ["a", "b"]


def test_index_of_nginx_in_xml():
    body = (
        '<?xml version="1.0"?>\n<list>\n<directory mtime="2026-01-01T00:00:00Z">sub</directory>\n'
        '<file mtime="2026-01-01T00:00:00Z" size="3000">a &amp; b.bin</file>\n'
        '<other mtime="2026-01-01T00:00:00Z">fifo</other>\n<file mtime="" size="1">../x</file>\n</list>\n'
    )
    page = parse_index(BUCKET, "text/xml", body.encode())
    assert [(entry.name, entry.is_folder, entry.size_bytes) for entry in page.entries] == [
        ("sub", True, None),
        ("a & b.bin", False, 3000),
    ]
    assert page.entries[1].modified_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert [each.place for each in page.left_out] == ["http://store/bucket/fifo", "http://store/bucket/../x"]
    assert page.is_exact


def test_properties_may_escape_their_paths_in_another_way_than_the_request():
    folder = Url.parse("http://host/caf%C3%A9~/")
    rows = "<response><href>/caf%c3%a9%7e/</href><propstat><prop><resourcetype><collection/></resourcetype></prop>"
    rows += "</propstat></response><response><href>/caf%c3%a9%7e/a%2cb.bin</href></response>"
    rows += "<response><href>/caf%C3%A9~/s/</href><resourcetype><collection/></resourcetype></response>"
    rows += "<response><href>/caf%c3%a9%7e/s/deep</href></response>"
    page = parse_multistatus(folder, f"<multistatus>{rows}</multistatus>".encode())
    assert [(entry.name, entry.target) for entry in page.entries] == [
        ("a,b.bin", "/caf%c3%a9%7e/a%2cb.bin"),
        ("s", "/caf%C3%A9~/s/"),
    ]
    assert page.left_out == ()
