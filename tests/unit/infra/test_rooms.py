from infra.checks.rooms import MAX_LINES, MAX_MODULES, find_large_folders, find_long_modules, find_shared_class_names


def test_folder_with_more_modules_than_a_reader_holds_is_refused():
    modules = {f"core/room/m{number}.py": "" for number in range(MAX_MODULES)} | {"core/room/__init__.py": ""}
    assert list(find_large_folders(modules)) == []
    (offence,) = find_large_folders(modules | {"core/room/one_more.py": ""})
    assert offence.startswith("core/room: 21 modules")


def test_module_of_too_many_lines_is_refused():
    assert list(find_long_modules({"core/a.py": "\n" * MAX_LINES})) == []
    (offence,) = find_long_modules({"core/a.py": "\n" * (MAX_LINES + 1)})
    assert offence.startswith("core/a.py: 361 lines")


def test_class_name_in_three_modules_is_refused_and_tests_do_not_count():
    source = "class Outer:\n    class Plan: ...\n"
    two = {"core/a.py": source, "services/b.py": source, "tests/c.py": source}
    assert list(find_shared_class_names(two)) == []
    offences = list(find_shared_class_names(two | {"infra/d.py": "class Plan: ...\n"}))
    assert offences == ["class Plan in 3 modules: name each for what it is: core/a.py, infra/d.py, services/b.py"]
