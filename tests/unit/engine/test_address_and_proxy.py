from urllib.parse import quote

import pytest

from tradewind_agent.engine.http.address import Login, Origin, Url
from tradewind_agent.engine.http.proxy import Proxies, Proxy
from tradewind_agent.errors import UnusableSource


@pytest.mark.parametrize(
    ("text", "shown", "authority"),
    [
        ("http://host", "http://host/", "host"),
        ("https://Host:443/a", "https://host/a", "host"),
        ("http://host:8080/a b?q=ü#part", "http://host:8080/a%20b?q=%C3%BC", "host:8080"),
        ("http://[::1]:81/x%20y", "http://[::1]:81/x%20y", "[::1]:81"),
        ("http://ann:p%40w@host/x", "http://host/x", "host"),
    ],
)
def test_urls_are_read_escaped_and_shown_without_a_password(text: str, shown: str, authority: str):
    url = Url.parse(text)
    assert (str(url), url.origin.authority) == (shown, authority)


@pytest.mark.parametrize(
    ("host", "encoded"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("例え.example", "xn--r8jz45g.example"),
        ("faß.example", "xn--fa-hia.example"),
    ],
)
def test_international_host_is_requested_in_the_form_of_dns(host: str, encoded: str):
    assert Url.parse(f"https://{host}:8443/ü").origin.authority == f"{encoded}:8443"


def test_host_that_cannot_be_is_refused_in_one_line():
    with pytest.raises(UnusableSource, match="is no name of a host"):
        Url.parse("https://ü..example/")


def test_credentials_of_a_url():
    url = Url.parse("http://ann:p%40w@host/x")
    assert url.login == Login("ann", "p@w")
    assert "p@w" not in repr(url)


@pytest.mark.parametrize("text", ["ftp://host/x", "host/x", "http://", "http://host:port/", "http://[::1/x", ""])
def test_url_that_is_not_http_is_refused(text: str):
    with pytest.raises(UnusableSource):
        Url.parse(text)


@pytest.mark.parametrize("reference", ["http://[::1/x", "http://h:port/", "ftp://h/x"])
def test_reference_that_is_no_url_is_refused_in_words(reference: str):
    with pytest.raises(UnusableSource):
        Url.parse("http://host/a").join(reference)


def test_credentials_stay_with_their_origin():
    url = Url.parse("http://ann:pw@host/a/b")
    assert url.join("../c").login == Login("ann", "pw")
    assert str(url.join("../c")) == "http://host/c"
    assert url.join("http://other/c").login is None
    assert url.join("https://host/c").login is None


@pytest.mark.parametrize(
    "name", ["plain.bin", "a b", "100%", "x?y#z", "umläut", "~tilde", "a:b", "%41", "sub folder/b"]
)
@pytest.mark.parametrize("at", ["http://ann:pw@host/data/", "http://host:81/", "http://host/data/index.html?sort=1"])
def test_joined_path_equals_joining_its_escaped_form(at: str, name: str):
    url = Url.parse(at)
    assert url.join_path(name) == url.join("./" + quote(name))
    assert url.join_path(name, is_folder=True) == url.join("./" + quote(name) + "/")
    assert url.join_path(name).name == name.rpartition("/")[2]


def test_the_name_of_a_file():
    assert Url.parse("http://h/a/b%20c.bin?x=/y").name == "b c.bin"
    assert Url.parse("http://h/a/").name == ""


PROXIES = Proxies.from_environment(
    {
        "http_proxy": "one:3128",
        "HTTP_PROXY": "evil:1",
        "HTTPS_PROXY": "http://me:pw@two",
        "no_proxy": "localhost, .inner.example, 10.0.0.1,port.example:81",
    }
)


@pytest.mark.parametrize(
    ("host", "port", "proxied"),
    [
        ("outer.example", 80, True),
        ("inner.example", 80, False),
        ("a.inner.example", 80, False),
        ("notinner.example", 80, True),
        ("localhost", 80, False),
        ("10.0.0.1", 80, False),
        ("port.example", 81, False),
        ("port.example", 80, True),
    ],
)
def test_which_hosts_are_reached_without_a_proxy(host: str, port: int, proxied: bool):
    assert (PROXIES.find_proxy(Origin("http", host, port)) is not None) is proxied


def test_each_scheme_has_its_proxy_and_capitals_do_not_count_for_http():
    one = PROXIES.find_proxy(Origin("http", "h", 80))
    two = PROXIES.find_proxy(Origin("https", "h", 443))
    assert one == Proxy("one", 3128, variable="http_proxy")
    assert two is not None
    assert two.build_headers() == {"Proxy-Authorization": "Basic bWU6cHc="}
    assert Proxies.from_environment({"HTTP_PROXY": "evil:1"}).find_proxy(Origin("http", "h", 80)) is None
    assert Proxies.from_environment({"all_proxy": "p:1", "no_proxy": "*"}).find_proxy(Origin("http", "h", 80)) is None


@pytest.mark.parametrize(
    ("no_proxy", "host"),
    [
        ("*.inner.example", "a.inner.example"),
        (".inner.example", "inner.example"),
        ("a.example b.example", "b.example"),
        ("10.0.0.0/8", "10.200.3.4"),
        ("[fd00::1]:80", "fd00::1"),
        ("fd00::/8", "fd00::2"),
        ("::1", "::1"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("INNER.example,", "inner.EXAMPLE"),
        ("ü..,inner.example", "inner.example"),
    ],
)
def test_no_proxy_is_understood_in_its_usual_forms(no_proxy: str, host: str):
    proxies = Proxies.from_environment({"all_proxy": "p:1", "no_proxy": no_proxy})
    assert proxies.find_proxy(Origin("http", host, 80)) is None
    assert proxies.find_proxy(Origin("http", "other.org", 80)) is not None
    assert proxies.find_proxy(Origin("http", "11.0.0.1", 80)) is not None


@pytest.mark.parametrize(
    ("text", "host", "port", "resolves"),
    [
        ("socks5h://gate:1081", "gate", 1081, True),
        ("socks5://gate", "gate", 1080, False),
        ("SOCKS4A://gate", "gate", 1080, True),
    ],
)
def test_socks_proxies_are_understood(text: str, host: str, port: int, resolves: bool):
    proxy = Proxy.parse(text)
    assert (proxy.host, proxy.port, proxy.is_socks, proxy.resolves_names) == (host, port, True, resolves)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://proxy:3128", "use an http:// proxy"),
        ("quic://proxy", "has the scheme 'quic'"),
        ("http://", "is no address of a proxy"),
    ],
)
def test_proxy_that_cannot_be_used_is_named_where_it_is_needed(text: str, reason: str):
    with pytest.raises(UnusableSource, match=reason):
        Proxy.parse(text)
    proxies = Proxies.from_environment({"ALL_PROXY": text, "no_proxy": "near"})
    assert proxies.find_proxy(Origin("http", "near", 80)) is None
    proxy = proxies.find_proxy(Origin("http", "far", 80))
    assert proxy is not None
    assert proxy.fault is not None
    assert proxy.fault.startswith(f"ALL_PROXY {reason if reason[0] in 'hi' else 'is'}")
