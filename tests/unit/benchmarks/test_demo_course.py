from benchmarks.demo.course import Course, Progress


def test_the_mean_rate_between_two_moments_is_of_what_was_moved_between_them():
    course = Course([Progress(0.0, 0), Progress(1.0, 1_000), Progress(2.0, 1_000), Progress(4.0, 5_000)])
    assert course.compute_mean_bps(1.0, 4.0) == 8 * 4_000 / 3
    assert course.compute_mean_bps(1.0, 2.0) == 0.0
    assert course.compute_mean_bps(4.0, 4.0) == 0.0


def test_before_the_first_moment_nothing_was_moved_and_after_the_last_no_more():
    course = Course([Progress(1.0, 10), Progress(2.0, 30)])
    assert [course.interpolate_moved_bytes(at_s) for at_s in (0.5, 1.0, 1.9, 9.0)] == [0, 10, 28, 30]


def test_notes_that_are_far_apart_do_not_move_bytes_from_one_phase_into_the_next():
    course = Course([Progress(0.0, 0), Progress(1.0, 1_000), Progress(6.0, 6_000)])
    assert course.compute_mean_bps(2.0, 5.0) == 8 * 1_000


def test_a_course_of_a_process_that_was_stopped_while_it_wrote_is_read_up_to_there(tmp_path):
    file = tmp_path / "course"
    points = [Progress(1.5, 10), Progress(2.5, 20)]
    file.write_text("".join(point.to_line() for point in points) + "[3.5, 2")
    assert Course.read(file).interpolate_moved_bytes(9.0) == 20


def test_recorded_point_is_returned_for_its_moment():
    course = Course()
    point = course.record(70)
    assert course.interpolate_moved_bytes(point.at_s) == 70
    assert course.interpolate_moved_bytes(point.at_s - 1.0) == 0
