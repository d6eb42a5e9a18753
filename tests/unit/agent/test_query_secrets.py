"""Addresses as they are shown."""

import pytest

from tradewind_agent.query_secrets import hide_query_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://h/a?X-Amz-Signature=ab12&X-Amz-Date=1", "https://h/a?X-Amz-Signature=…&X-Amz-Date=1"),
        ("https://h/a?sv=1&sig=a%2Fb%3D: gone", "https://h/a?sv=1&sig=…: gone"),
        ("(https://h/a?access_token=t), https://h/b?sig=p", "(https://h/a?access_token=…), https://h/b?sig=…"),
        ("https://h/get?id=7&design=3&key=dir", "https://h/get?id=7&design=3&key=dir"),
        ("https://h/a?AWSAccessKeyId=AK&Signature=s&Expires=1", "https://h/a?AWSAccessKeyId=…&Signature=…&Expires=1"),
        ("https://h/run&auth=1.nc", "https://h/run&auth=1.nc"),
        ("https://h/set;token=5/a?secretariat=3&tokens=7", "https://h/set;token=5/a?secretariat=3&tokens=7"),
        ("no file /data/a?token=1.nc", "no file /data/a?token=1.nc"),
        ("name=sig and token=x", "name=sig and token=x"),
    ],
)
def test_only_values_of_secrets_in_queries_are_hidden(address: str, shown: str):
    assert hide_query_secrets(address) == shown
