"""Refusals of an object store: about one file, or about all files of a copy."""

import pytest

from tradewind_agent.stores.s3.object_source import describe_object
from tradewind_agent.stores.s3.refusals import explain_refusal, find_common_fault


@pytest.mark.parametrize("code", ["InvalidStorageClass", "MetadataTooLarge", "NoSuchBucket", "InvalidAccessKeyId"])
def test_refusal_of_options_holds_for_all_files(code):
    assert find_common_fault("400 Bad Request", code, has_properties=False)


@pytest.mark.parametrize("code", ["InvalidArgument", "NotImplemented"])
def test_refused_argument_is_about_properties_only_where_there_are_any(code):
    named = find_common_fault("400 Bad Request", code, has_properties=True)
    assert named == (
        f"the store answered 400 Bad Request ({code}); check --storage-class, --content-type and --metadata"
    )
    assert find_common_fault("400 Bad Request", code, has_properties=False) == ""


@pytest.mark.parametrize("code", ["", "AccessDenied", "BadDigest", "NoSuchKey", "SlowDown"])
def test_other_refusals_are_about_one_file(code):
    assert find_common_fault("403 Forbidden", code, has_properties=True) == ""


@pytest.mark.parametrize(
    "message",
    [
        "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock",
        "The provided 'x-amz-checksum' header does not match what was computed.",
        "Value for x-amz-checksum-crc32 header is invalid.",
    ],
)
def test_sum_that_is_missing_or_wrong_is_a_fault_of_one_file(message: str):
    reason = explain_refusal("400 Bad Request", "InvalidRequest", message)
    assert reason == f"the store answered 400 Bad Request (InvalidRequest: {message})"
    assert find_common_fault("400 Bad Request", "InvalidRequest", message, has_properties=False) == ""


def test_refusal_of_checksum_headers_says_how_to_leave_them_out():
    message = "Unsupported header 'x-amz-checksum-mode' received for this API call."
    reason = explain_refusal("400 Bad Request", "InvalidArgument", message)
    assert reason.startswith(
        "the store takes no headers of checksums; set AWS_REQUEST_CHECKSUM_CALCULATION=when_required"
    )
    assert message in reason
    for has_properties in (True, False):  # each file goes with such a header, whatever the user names
        fault = find_common_fault("400 Bad Request", "InvalidArgument", message, has_properties=has_properties)
        assert fault == reason


@pytest.mark.parametrize(
    ("stated", "sent"),
    [
        ("aws-chunked", None),
        ("gzip, AWS-Chunked", "gzip"),
        ("aws-chunked,gzip", "gzip"),
        ("gzip", "gzip"),
        (None, None),
    ],
)
def test_coding_of_an_earlier_upload_is_none_of_the_object(stated: str | None, sent: str | None):
    headers = {"content-type": "a/b"} | ({} if stated is None else {"content-encoding": stated})
    assert describe_object(headers) == {"Content-Type": "a/b"} | ({} if sent is None else {"Content-Encoding": sent})
