"""A copy of the user's AWS configuration with further values in the ``s3`` part of one profile.

All else is copied as it is, so that credentials are found as before: by processes, single sign-on, other profiles.
Names and forms are those of botocore's parser (``botocore.configloader``): ``[default]``, ``[profile NAME]``, and
``s3 =`` followed by indented values.
"""

import configparser
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"\[(?P<header>.+)\]")
_PART = "s3"
_DEFAULT = "default"
_PROFILE_VARIABLES = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")


@dataclass(frozen=True, slots=True)
class AwsConfiguration:
    """The text of a configuration file, and the profile that is in use.

    ``is_open`` : whether values can be added: not to a profile that neither file of the user has, which would make it
    one, nor where the file of credentials has an ``s3`` part, which goes first.
    """

    text: str
    profile: str
    is_open: bool = True

    def read_own_values(self) -> Mapping[str, str]:
        """Return the values of the profile's ``s3`` part, by name; none of a file that aws will not read either."""
        sections = _parse(self.text) or {}
        parts = (values.get(_PART, "") for header, values in sections.items() if _parse_profile(header) == self.profile)
        # botocore takes a value for a part only if its first line is empty
        pairs = (line.partition("=") for part in parts if part.startswith("\n") for line in part.splitlines())
        return {name.strip(): value.strip() for name, equals, value in pairs if equals}

    def add_values(self, values: Mapping[str, str]) -> str | None:
        """Return the text with ``values`` in the profile's ``s3`` part, which has none of them yet.

        ``None`` where they cannot be added so that all else stays as it is.
        """
        if not self.is_open:
            return None
        lines = self.text.splitlines()
        sections = self._find_sections(lines)
        if not sections:
            header = _DEFAULT if self.profile == _DEFAULT else f"profile {shlex.quote(self.profile)}"
            lines += [f"[{header}]"]
            sections = [(len(lines), len(lines))]
        for start, end in reversed(sections):
            at = _find_part(lines, start, end)
            if at is None:
                lines[start:start] = [f"{_PART} =", *(f"    {name} = {value}" for name, value in values.items())]
                continue
            following = lines[at + 1 : _find_part_end(lines, at, end)]
            indent = next((line[: len(line) - len(line.lstrip())] for line in following if line.strip()), "    ")
            lines[at + 1 : at + 1] = [f"{indent}{name} = {value}" for name, value in values.items()]
        text = "\n".join(lines) + "\n"
        return text if self._is_same_but_for(values, text) else None

    def _is_same_but_for(self, values: Mapping[str, str], text: str) -> bool:
        """Return whether aws reads of ``text`` what it reads of the user's file, and ``values`` besides."""
        before, after = _parse(self.text), _parse(text)
        if before is None or after is None:
            return False
        if AwsConfiguration(text, self.profile).read_own_values() != {**self.read_own_values(), **values}:
            return False
        added = [header for header in after if header not in before]
        return len(added) <= 1 and all(
            {name: value for name, value in after[header].items() if name != _PART}
            == {name: value for name, value in before.get(header, {}).items() if name != _PART}
            and (_parse_profile(header) == self.profile or after[header] == before.get(header))
            for header in after
        )

    def _find_sections(self, lines: Sequence[str]) -> list[tuple[int, int]]:
        """Return the profile's sections: the lines from behind the header to before the next one."""
        headers = [(at, found["header"]) for at, line in enumerate(lines) if (found := _SECTION.match(line))]
        ends = [*(at for at, _ in headers), len(lines)][1:]
        return [
            (at + 1, end)
            for (at, header), end in zip(headers, ends, strict=True)
            if _parse_profile(header) == self.profile
        ]


def read_configuration(environment: Mapping[str, str], profile: str | None) -> AwsConfiguration:
    """Return the configuration that aws uses.

    Parameters
    ----------
    profile : that the command line names, if any.
    """
    named = [environment[name] for name in _PROFILE_VARIABLES if environment.get(name)]
    used = profile or (named[0] if named else _DEFAULT)
    try:
        text = _read(_find_file(environment, "AWS_CONFIG_FILE", "config"))
        credentials = _parse(_read(_find_file(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"))) or {}
    except (OSError, UnicodeDecodeError):
        return AwsConfiguration("", used, is_open=False)
    is_certain = profile is not None or len(set(named)) < 2  # versions of aws differ in which variable goes first
    is_known = used == _DEFAULT or used in credentials or used in map(_parse_profile, _parse(text) or {})
    is_open = is_certain and is_known and _PART not in credentials.get(used, {})
    return AwsConfiguration(text, used, is_open=is_open)


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: str) -> str:
    """Return a file's text; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _find_file(environment: Mapping[str, str], variable: str, name: str) -> str:
    path = os.path.expandvars(environment.get(variable) or f"~/.aws/{name}")
    return environment.get("HOME", "") + path[1:] if path.startswith("~/") else path


def _parse(text: str) -> Mapping[str, Mapping[str, str]] | None:
    """Return the options of each section; ``None`` for a text that aws refuses."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _parse_profile(header: str) -> str | None:
    """Return the profile that a section is of; ``None`` for a section of something else."""
    if header == _DEFAULT:
        return _DEFAULT
    try:
        words = shlex.split(header)
    except ValueError:
        return None
    return words[1] if len(words) == 2 and words[0] == "profile" else None


def _find_part(lines: Sequence[str], start: int, end: int) -> int | None:
    """Return the line of a section that begins its ``s3`` part."""
    return next((at for at in range(start, end) if re.match(rf"{_PART}\s*[=:]", lines[at], re.IGNORECASE)), None)


def _find_part_end(lines: Sequence[str], at: int, end: int) -> int:
    """Return the line behind a part: the first one that is neither indented nor empty."""
    return next((each for each in range(at + 1, end) if lines[each].strip() and not lines[each][0].isspace()), end)
