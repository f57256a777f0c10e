"""Which commands of the pages `python -m benchmarks documented` runs."""

from benchmarks.documented import PAGES, commands, pages_of_docs


def test_commands_are_read_whole_and_without_their_comments() -> None:
    of_readme = [command.text for command in commands("README.md")]
    (curl,) = (text for text in of_readme if text.startswith("curl"))
    assert curl.count("\n") == 2
    assert curl.endswith("}}'")
    assert "python -m chatbot chat --country KE" in of_readme


def test_what_is_not_run_are_few_and_each_has_a_reason() -> None:
    printed = [
        command for name in (*PAGES, *pages_of_docs()) for command in commands(name)
    ]
    left_out = [command.text for command in printed if command.reason]
    assert len(printed) > 100
    assert len(left_out) < 20, left_out
    assert not any("python -m chatbot" in text for text in left_out)
