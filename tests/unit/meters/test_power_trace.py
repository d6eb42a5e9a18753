import pytest

from tradewind.energy.measured import compute_total_energy_j
from tradewind.errors import InvalidTrace
from tradewind_agent.meters.power_trace import read_power_trace


@pytest.mark.parametrize(
    "text",
    [
        "time_s,power_w\n0,1.5\n0.1,2.5\n0.25,2\n",
        "\ufeffTime;Power [W]\r\n0;1,5\r\n0,1;2,5\r\n0,25;2\r\n",
        "0\t1.5\n0.1\t2.5\n0.25\t2\n",
        "n,timestamp,power_mW\n1,0,1500\n2,0.1,2500\n\n3,0.25,2000\n",
    ],
    ids=["commas", "semicolons and decimal commas", "tabs without names", "milliwatts among other columns"],
)
def test_the_same_trace_in_the_forms_that_meters_write(text):
    trace = read_power_trace(text.replace("Power [W]", "power_w"))
    assert trace.time_s == pytest.approx((0, 0.1, 0.25))
    assert trace.power_w == pytest.approx((1.5, 2.5, 2))
    assert trace.notes == ()


@pytest.mark.parametrize("header", ["", "time_s,power_w\n"])
def test_decimal_commas_in_quotes_are_read_and_noted(header):
    trace = read_power_trace(header + '"0,0","1,5"\n"0,1","2,5"\n"0,25","2"\n')
    assert trace.time_s == pytest.approx((0, 0.1, 0.25))
    assert trace.power_w == pytest.approx((1.5, 2.5, 2))
    assert trace.notes == ("5 commas in quotation marks are read as decimal commas",)


@pytest.mark.parametrize(
    "rows",
    [
        "0;1,125\n1;1,25\n2;1\n",
        "0;1,125\n1;1,125\n",
        "0;100\n1;99,5\n",
        "0;45,123\n1;45\n",
        "0;1,125\n1;1\n",
        "0;0,998\n1;1,002\n2;100\n",
        "0;1002,500\n1;998\n",
        "0;99,875\n1;100\n2;100,125\n",
    ],
)
def test_commas_that_can_only_be_decimal_are_read(rows):
    read = [float(row.partition(";")[2].replace(",", ".")) for row in rows.splitlines()]
    assert read_power_trace("t;w\n" + rows).power_w == pytest.approx(read)


def test_commas_between_thousands_are_not_guessed_at():
    with pytest.raises(InvalidTrace, match=r"row 2: '1,500\.5' is no power"):
        read_power_trace('t,w\n0,"1,500.5"\n1,2\n')


@pytest.mark.parametrize(
    ("usual_s", "pause_s", "bridged"),
    [(0.1, 4.9, True), (0.1, 5.2, False), (2, 4.9, True), (2, 19, False), (60, 119, True), (60, 121, False)],
)
def test_a_pause_above_five_seconds_is_refused_but_of_a_trace_that_is_as_slow_itself(usual_s, pause_s, bridged):
    times_s = [n * usual_s for n in range(10)]
    times_s += [times_s[-1] + pause_s + n * usual_s for n in range(10)]
    text = "t,w\n" + "".join(f"{at_s},1\n" for at_s in times_s)
    if bridged:
        assert len(read_power_trace(text).time_s) == 20
    else:
        with pytest.raises(InvalidTrace, match=f"has a gap of {pause_s} s after"):
            read_power_trace(text)


def test_moments_of_the_day_are_times_too():
    trace = read_power_trace("time,power\n2026-11-22T12:00:00+01:00,1\n2026-11-22T11:00:00.5+00:00,2\n")
    assert trace.time_s[1] - trace.time_s[0] == pytest.approx(0.5)


def test_time_reported_twice_counts_once_and_is_noted():
    trace = read_power_trace("t,w\n0,1\n0.1,2\n0.1,4\n0.2,3\n")
    assert trace.power_w == (1, 3, 3)
    assert "1 sample of a time that was there already" in trace.notes[0]


def test_rows_that_end_with_a_delimiter_are_read_with_or_without_one_in_the_header():
    for text in ("t,w,\n0,1,\n0.1,2,\n", "t,w\n0,1,\n0.1,2,\n", "t;w;note;\n0;1;on;\n0,1;2;;\n", "0,1,\n0.1,2,\n"):
        assert read_power_trace(text).power_w == (1, 2)


def test_moments_without_a_zone_are_local_and_noted():
    rows = ("2026-11-26T10:00:00{},1", "2026-11-26T10:00:01{},2")
    message = read_power_trace("t,w\n" + "\n".join(row.format("") for row in rows))
    assert "name no zone: they are taken for this host's" in message.notes[0]
    assert message.time_s[1] - message.time_s[0] == 1
    assert read_power_trace("t,w\n" + "\n".join(row.format("Z") for row in rows)).notes == ()


def test_short_gap_is_bridged_and_noted():
    rows = [(n / 10, 2) for n in range(20)] + [(5 + n / 10, 2) for n in range(20)]
    trace = read_power_trace("t,w\n" + "\n".join(f"{at},{power}" for at, power in rows))
    assert "1 gap, 3.1 s in all" in trace.notes[0]
    assert compute_total_energy_j(trace.time_s, trace.power_w) == pytest.approx(2 * 6.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("t,w\n", "0 samples"),
        ("t,w\n0,1\n", "1 sample;"),
        ("t,w\n0,1\n1,2\n0.5,2\n", "row 4: time goes back by 0.5 s"),
        ("t,w\n" + "".join(f"{n / 10},1\n" for n in range(20)) + "60,1\n", "a gap of 58.1 s"),
        ("t,w\n0,1,5\n0,1,2\n", "decimal commas between commas"),
        ("t,w\n0,1\n\n0,1,1,5\n0,2,2\n", "row 4 has 4 columns, not 2: decimal commas"),
        ("t;w\n0;1\n1;2;3\n", "row 3 has 3 columns, not 2"),
        ("0,1,2\n1,1,3\n", "3 columns without names; name them, or part them by semicolons"),
        ("0;5.0;0.3\n0.1;5.0;0.3\n", "3 columns without names; name them$"),
        ("time_s,power_w,\n0,1,5,\n1,2,5,\n", "row 2 has 4 columns, not 2: decimal commas"),
        ("time_s,power_w,\n0,1,5\n1,2,5\n", "row 2 has 3 columns, not 2: decimal commas"),
        ("time_s,power_w,note\n0,1,5,\n1,2,5,\n", "row 2 has 4 columns, not 3: decimal commas"),
        ("timestamp,power\n1700000000000,2\n1700000000100,2\n", "row 2: .* is it in milliseconds"),
        ("t,w\n0,1\n0.1\n", "row 3 has 1 column"),
        ("t,w\n0,1\n0.1,high\n", "row 3: 'high' is no power"),
        ("t,w\n0,1\n0.1,-3\n", "row 3: a power of -3 cannot be"),
        ("t,w\n0,1\n0.1,nan\n", "row 3: a power of nan cannot be"),
        ("t,w\nnoon,1\n0.1,1\n", "row 2: 'noon' is neither seconds"),
        ("when,how much\n0,1\n", "names no time or no power"),
        ("12\n13\n", "one column"),
        ("t,w\n0,5\n1,1e9\n", "row 3: 1e\\+09 W is more than any host takes; is it in milliwatts"),
        ("t,power,power\n0,5,7\n1,5,7\n", "names power 2 times"),
        ("t,Power (MW)\n0,5\n1,5\n", "has a power in MW"),
        ("t;w\n0;998,5\n1;1.002\n", "the power 998,5 next to others: does its comma separate thousands"),
        ("t;w\n0;998\n1;1,002\n", "does its comma separate thousands"),
        ("t;mw\n0;99,875\n1;100\n", "does its comma separate thousands"),
        ("t,w\n0,1_000\n1,1\n", "row 2: '1_000' is no power"),
        ("date,w\n45989.5,5\n45989.6,5\n", "row 2: 45989.5 s is no date"),
        ('t,w\n0,1\n"0.1,2\n0.2,3\n', "row 3: a quotation mark opens or ends a cell in its middle"),
        ('"t,w\n0,1\n0.1,2\n', "row 1: a quotation mark opens or ends a cell in its middle"),
        ("t,w\n" + '0,"' + "1" * 200_000 + "\n1,2\n", "row 2: a quotation mark"),
    ],
)
def test_uncorrectable_trace_is_refused_with_its_place(text, message):
    with pytest.raises(InvalidTrace, match=message):
        read_power_trace(text)


def test_capitals_of_another_column_are_no_megawatts():
    trace = read_power_trace("DIMMW,t,power_mw\n1,0,5000\n1,1,5000\n")
    assert trace.power_w == pytest.approx([5, 5])


def test_comma_behind_four_digits_is_decimal_in_milliwatts_too():
    assert read_power_trace("t;mw\n0;1002,500\n1;998\n").power_w == pytest.approx([1.0025, 0.998])
