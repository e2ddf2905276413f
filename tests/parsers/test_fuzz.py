"""Run a fixed share of the fuzzer's inputs, always the same; `scripts/fuzz` runs others."""

from __future__ import annotations

import pytest

from parsers.registry import all_formats
from tests.parsers import fuzz

KINDS = sorted({form.kind for form, _ in all_formats()})
SEED = "share"
INPUTS, EVERY = 20, 5


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_the_fuzz_holds(kind, tmp_path, capsys):
    failed = []
    for one in fuzz.inputs(kind, SEED, INPUTS):
        print(f"scripts/fuzz {one}")  # shown with a failure: the command that makes this input again
        try:
            fuzz.check(one, recognised=one.number % EVERY == 0)
        except Exception as error:
            failed.append(f"{fuzz.keep(one, error, tmp_path)}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_can_be_made_again(kind):
    assert fuzz.make(kind, SEED, 3) == fuzz.make(kind, SEED, 3)
    assert fuzz.make(kind, SEED, 3).content != fuzz.make(kind, SEED + "x", 3).content


def test_a_failure_is_kept_with_the_command_that_repeats_it(tmp_path, monkeypatch):
    def broken(one, *, recognised=True):
        raise ValueError("what a format let through")

    monkeypatch.setattr(fuzz, "check", broken)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path)
    assert fuzz.main(["--kind", "vmstat", "--inputs", "2", "--seed", "s", "--first", "5"]) == 1
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["vmstat-s-5.log", "vmstat-s-5.txt", "vmstat-s-6.log", "vmstat-s-6.txt"]
    assert (tmp_path / "vmstat-s-5.txt").read_bytes() == fuzz.make("vmstat", "s", 5).content
    assert "--kind vmstat --seed s --first 5 --inputs 1" in (tmp_path / "vmstat-s-5.log").read_text()


def test_what_does_not_add_up_fails(monkeypatch):
    one = fuzz.make("vmstat", SEED, 0)
    monkeypatch.setattr(fuzz, "SECONDS", -1.0)
    with pytest.raises(fuzz.Failed, match="processor time"):
        fuzz.check(one, recognised=False)
