"""Refusals of an object store: about one file, or about all files of a copy."""

import pytest

from tradewind_agent.stores.s3.refusals import find_common_fault


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
