"""Answers that are not the file: failures, though curl without --fail does not say so."""

import pytest

from tradewind_agent.movers.curl.reports import describe_other_answers, has_other_answer


def report(status: int, **more: object) -> dict[str, object]:
    found = {"http_code": status, "scheme": "HTTP", "exitcode": 0, "url_effective": "http://store/f"}
    return found | {"filename_effective": "f"} | more


@pytest.mark.parametrize("status", [301, 401, 404, 416, 500, 503])
def test_answer_with_an_error_status_is_not_the_file(status):
    assert has_other_answer(report(status), resumes=False)


@pytest.mark.parametrize("status", [200, 201, 204, 206, 304])
def test_answer_with_a_status_of_success_is_the_file(status):
    assert not has_other_answer(report(status), resumes=False)


def test_reply_of_an_ftp_server_is_no_status():
    assert not has_other_answer(report(426, scheme="FTP"), resumes=False)


def test_failure_that_curl_reports_is_not_reported_again():
    assert not has_other_answer(report(404, exitcode=22), resumes=False)


def test_complete_file_that_is_continued_is_no_failure():
    assert not has_other_answer(report(416), resumes=True)


def test_line_names_status_address_and_file():
    line = describe_other_answers([report(404)], uploads=False)
    assert line == "the server answered 404 to http://store/f: f is its error page; --fail makes curl report it"


def test_line_counts_further_answers():
    line = describe_other_answers([report(404), report(500), report(404)], uploads=False)
    assert "answered 404 to http://store/f, and to 2 more" in line


def test_refused_upload_is_not_called_a_page():
    assert "it has not taken the file" in describe_other_answers([report(507)], uploads=True)


def test_redirection_names_the_option_that_follows_it():
    assert "--location" in describe_other_answers([report(302)], uploads=False)
