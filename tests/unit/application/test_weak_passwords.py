import pytest

from services.application.access.weak_passwords import require_strong
from tradewind.errors import InvalidValue


@pytest.mark.parametrize(
    "password",
    [
        "aaaaaaaaaaaa",
        "abababababab",
        "abcabcabcabcab",
        "passwordpassword",
        "Password1234",
        "P@ssw0rd2026!",
        "qwertyuiop12",
        "1qaz2wsx3edc",
        "123456789012",
        "abcdefghijkl",
        "zyxwvutsrqponm",
        "098765432109",
        "letmein12345",
        "Summer2026!!!",
        "Administrator1",
        "tradewind2026",
        "ｐａｓｓｗｏｒｄ1234",
        "changemechangeme1",
    ],
)
def test_common_and_repetitive_passwords_are_refused(password):
    with pytest.raises(InvalidValue, match="password"):
        require_strong(password)


@pytest.mark.parametrize(
    "password",
    [
        "kVb7qXw2LmZp",
        "a red tractor, late",
        "Correct-horse-9-battery",
        "tändstickor på loftet",
        "日本語の長い合言葉です。夜",
        "0x5f3759dfWtf?",
    ],
)
def test_other_passwords_pass(password):
    require_strong(password)


def test_a_password_made_of_the_login_is_refused():
    require_strong("marguerite-2031")
    with pytest.raises(InvalidValue, match="the login"):
        require_strong("marguerite-2031", own_words=["Marguerite"])


def test_a_long_password_is_judged_quickly():
    require_strong("correct battery staple, and " * 6 + "one more")
