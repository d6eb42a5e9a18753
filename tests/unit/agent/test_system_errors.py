import errno
import os
import socket
import ssl

import httpx
import pytest

from tradewind_agent.system_errors import explain_os_error, find_os_error


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ECONNREFUSED, "the connection was refused; check the port, and that the server runs"),
        (errno.ECONNRESET, "the connection was dropped; try again; the server's log may say why"),
        (errno.ETIMEDOUT, "there is no answer; check the address, the network and firewalls"),
        (errno.EHOSTUNREACH, "no network leads there; check the address and this machine's network"),
        (errno.EACCES, "permission denied; change owner or mode, or choose another place"),
        (errno.ENOSPC, "no space is left; make room there or choose another place"),
        (errno.EROFS, "the file system is read-only; choose another place"),
        (errno.EMFILE, "too many files are open; raise `ulimit -n`"),
        (errno.EADDRINUSE, "the port is taken; choose another port"),
    ],
)
def test_errors_of_the_system_say_what_to_do(number, told):
    assert str(explain_os_error(OSError(number, os.strerror(number)))) == told


def test_a_name_that_is_not_known_and_one_that_cannot_be_looked_up_are_distinguished():
    assert explain_os_error(socket.gaierror(socket.EAI_NONAME, "raw")).what == "its name is not known"
    assert explain_os_error(socket.gaierror(socket.EAI_AGAIN, "raw")).what == "its name cannot be looked up now"


def test_tls_is_reported_without_the_library_s_own_text():
    refused = ssl.SSLCertVerificationError(
        1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1006)"
    )
    refused.verify_code, refused.verify_message = 18, "self-signed certificate"
    assert str(explain_os_error(refused)) == (
        "its certificate is not trusted (self-signed certificate); name its authority by SSL_CERT_FILE"
    )
    plain = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
    plain.reason = "WRONG_VERSION_NUMBER"
    assert str(explain_os_error(plain)) == "TLS failed (wrong version number); check that the address is one of https"


def test_a_time_out_without_a_number_is_no_answer():
    assert explain_os_error(TimeoutError("timed out")).what == "there is no answer"


def test_first_error_of_several_addresses_is_explained():
    several = OSError(
        "Multiple exceptions: [Errno 111] Connect call failed ('::1', 9), [Errno 113] Connect call failed ('1.2.3.4',)"
    )
    assert explain_os_error(several).what == "the connection was refused"


def test_an_error_without_words_keeps_its_own_text():
    assert (
        str(explain_os_error(OSError(errno.ELOOP, "Too many levels of symbolic links")))
        == "Too many levels of symbolic links"
    )
    assert str(explain_os_error(OSError())) == "OSError"


def test_the_system_s_error_is_found_behind_that_of_a_library():
    cause = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    library, failure = RuntimeError("of the library below"), httpx.ConnectError("raw")
    library.__context__, failure.__cause__ = cause, library
    assert find_os_error(failure) is cause
    assert find_os_error(httpx.ConnectError("alone")) is None
