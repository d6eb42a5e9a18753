"""The copy of a user's AWS configuration: aws reads of it what it reads of the original, and our values besides."""

from pathlib import Path
from stat import S_IMODE

import pytest
from botocore.configloader import build_profile_map, raw_config_parse

from tradewind_agent.movers.aws.configuration import AwsConfiguration, read_configuration, write_private

OURS = {"max_concurrent_requests": "16", "multipart_chunksize": "16777216"}

LAB = """\
# the lab
[default]
region = eu-west-1

[profile lab]
source_profile = default
role_arn = arn:aws:iam::1:role/x
credential_process = /bin/helper --for "lab"
s3 =
  addressing_style = path
  # as agreed
  max_concurrent_requests = 7
region = eu-north-1

[sso-session one]
sso_region = us-east-1
"""


def read(text, profile):
    """What botocore makes of a text for a profile."""
    path = Path("config")
    path.write_text(text)
    return build_profile_map(raw_config_parse(str(path)))["profiles"][profile]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("", "default"),
        ("[default]\n", "default"),
        ("[default]\nregion=x\n[profile a]\ns3=\n  max_queue_size=5\n", "default"),
        ("[default]\ns3=\n  max_queue_size=5\n", "default"),
        ("[default]\ns3 =\n\tmax_queue_size = 5\n\nregion = x\n", "default"),
        ("[profile 'a b']\nregion = x\n", "a b"),
        ("[profile default]\nregion = x\n", "default"),
        (LAB, "default"),
    ],
)
def test_values_are_added_to_the_part_of_the_profile(text, profile):
    before = read(text, profile) if text else {}
    made = AwsConfiguration(text, profile).add_values(OURS)
    after = read(made, profile)
    assert after["s3"] == {**before.get("s3", {}), **OURS}
    assert {name: value for name, value in after.items() if name != "s3"} == {
        name: value for name, value in before.items() if name != "s3"
    }


def test_values_of_the_user_and_all_other_profiles_stay():
    configuration = AwsConfiguration(LAB, "lab")
    assert configuration.read_own_values() == {"addressing_style": "path", "max_concurrent_requests": "7"}
    made = configuration.add_values({"multipart_chunksize": "16777216"})
    assert read(made, "lab")["s3"] == {
        "addressing_style": "path",
        "max_concurrent_requests": "7",
        "multipart_chunksize": "16777216",
    }
    assert read(made, "lab")["credential_process"] == '/bin/helper --for "lab"'
    assert [line for line in made.splitlines() if line in LAB.splitlines()] == LAB.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "[default]\ns3 = 5\n",  # a value of another kind
        "[default]\n[default]\n",  # aws refuses this
        "region = x\n",
        "  [default]\nregion = x\n[profile a]\n",  # an indented section, which would be made twice
    ],
)
def test_text_that_cannot_be_extended_faithfully_is_left_alone(text):
    assert AwsConfiguration(text, "default").add_values(OURS) is None


def test_profile_that_no_file_has_is_not_made():
    environment = {"HOME": str(Path.cwd())}
    assert read_configuration(environment, None).add_values(OURS) is not None
    assert read_configuration(environment, "lab").add_values(OURS) is None
    assert read_configuration({**environment, "AWS_PROFILE": "lab"}, None).add_values(OURS) is None
    Path(".aws").mkdir()
    Path(".aws/credentials").write_text("[lab]\naws_access_key_id = x\n")
    made = read_configuration({**environment, "AWS_PROFILE": "lab"}, None).add_values(OURS)
    assert read(made, "lab")["s3"] == OURS


def test_part_in_the_file_of_credentials_goes_first_so_that_nothing_is_added():
    Path("credentials").write_text("[lab]\ns3 =\n  max_concurrent_requests = 3\n")
    environment = {"HOME": "/none", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
    assert read_configuration(environment, "lab").add_values(OURS) is None


def test_two_variables_that_name_different_profiles_leave_all_as_it_is():
    environment = {"HOME": "/none", "AWS_PROFILE": "a", "AWS_DEFAULT_PROFILE": "default"}
    assert read_configuration(environment, None).add_values(OURS) is None
    assert read_configuration(environment, "default").add_values(OURS) is not None


def test_copy_is_readable_for_its_owner_alone():
    write_private(Path("made"), "x")
    assert S_IMODE(Path("made").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_private(Path("made"), "y")
