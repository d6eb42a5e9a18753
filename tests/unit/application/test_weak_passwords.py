import random
import string

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
        "Monday-Tuesday7",
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


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("6y5t4r3e2w1q", id="digits and letters in turn"),
        pytest.param("aqswdefrgthy", id="two rows in turn"),
        pytest.param("753951456852", id="numeric keypad"),
        pytest.param("#$%^&*()_+@!", id="digits with the shift key"),
        pytest.param("!Q@W#E$R%T^Y", id="in turn, with the shift key"),
        pytest.param("1!2@3#4$5%6^", id="each key without and with the shift key"),
        pytest.param("mmoonnkkeeyy", id="doubled characters"),
        pytest.param("99nniibbaarr", id="doubled characters of other words"),
        pytest.param("enihsnus!2026", id="a word backwards"),
        pytest.param("dniwedart-2026", id="the service backwards"),
        pytest.param("s.u.n.s.h.i.n.e", id="signs between letters"),
    ],
)
def test_common_passwords_in_simple_disguises_are_refused(password):
    with pytest.raises(InvalidValue, match="tried first"):
        require_strong(password)


@pytest.mark.parametrize("password", ["zelmora-31415", "ZzeellmmoorraaSky", "aromlez_1717", "Z3lm0r4-Quentris"])
def test_password_made_of_what_a_guesser_knows_of_the_user_is_refused(password):
    with pytest.raises(InvalidValue, match="the login"):
        require_strong(password, own_words=["quentris", "Zelmora Logistics"])


def test_words_of_the_user_are_no_reason_to_refuse_a_password_that_has_enough_else():
    require_strong("zelmora kVb7qXw2LmZp", own_words=["Zelmora"])


def test_random_passwords_pass():
    drawn = random.Random(5)
    characters = string.ascii_letters + string.digits + string.punctuation
    for _ in range(100):
        require_strong("".join(drawn.choices(characters, k=16)))


def test_weak_beginning_does_not_condemn_a_long_password():
    require_strong("password" * 10 + "kVb7qXw2LmZp kVb7qXw2LmZp-late tractor")


def test_a_long_password_is_judged_quickly():
    require_strong("correct battery staple, and " * 6 + "one more")


def test_every_stand_in_for_letters_at_once_is_judged_quickly():
    require_strong("4@8({[<369|1!70$5+%2" * 10)
