"""Addresses of objects, and where they are requested."""

import pytest

from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.places import check_address, is_remote
from tradewind_agent.stores.s3.address import S3Address, build_bucket_url


@pytest.mark.parametrize(
    ("text", "bucket", "key"),
    [
        ("s3://data", "data", ""),
        ("s3://data/", "data", ""),
        ("S3://data/a/b c", "data", "a/b c"),
        ("s3://my.bucket-1/%41?x#y", "my.bucket-1", "%41?x#y"),
        ("s3://data//a", "data", "/a"),
        ("s3://a/key", "a", "key"),
        (" s3://a/key ", "a", "key "),
        ("s3://a/key \r\n", "a", "key "),
        ("s3://a ", "a", ""),
        ("s3://a1/", "a1", ""),
        ("s3://data/" + "ü" * 512, "data", "ü" * 512),
    ],
)
def test_a_key_is_all_behind_the_bucket(text: str, bucket: str, key: str):
    assert S3Address.parse(text) == S3Address(bucket, key)


@pytest.mark.parametrize(
    "text", ["s3://", "s3:///key", "s3://-/key", "s3://a-/", "s3://bad bucket/", "s3://data/" + "ü" * 513]
)
def test_an_address_that_cannot_be_is_refused_in_one_line(text: str):
    with pytest.raises(UnusableSource) as refusal:
        check_address(text)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("bucket", "endpoint", "region", "url"),
    [
        ("data", None, "eu-west-1", "https://data.s3.eu-west-1.amazonaws.com/"),
        ("my.data", None, "us-east-1", "https://s3.us-east-1.amazonaws.com/my.data/"),
        ("data", None, "cn-north-1", "https://data.s3.cn-north-1.amazonaws.com.cn/"),
        ("a1", None, "us-east-1", "https://s3.us-east-1.amazonaws.com/a1/"),
        ("data", "http://127.0.0.1:9000", "us-east-1", "http://127.0.0.1:9000/data/"),
        ("data", "https://host/store/", "us-east-1", "https://host/store/data/"),
    ],
)
def test_a_bucket_is_in_the_name_of_the_host_at_aws_and_a_folder_elsewhere(bucket, endpoint, region, url):
    assert str(build_bucket_url(bucket, endpoint, region)) == url


def test_schemes_of_stores_are_remote_and_paths_are_not():
    assert all(map(is_remote, ["s3://b/", "S3://b/", "http://h/", "HTTPS://h/"]))
    assert not any(map(is_remote, ["/a/b", "file:///a", "s3:", "b://", "a://b"]))
