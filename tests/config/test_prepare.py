"""The files of the pages are made once, and again when their sources change."""

from __future__ import annotations

import pytest

from config.management.commands import prepare


@pytest.fixture
def collects(monkeypatch, settings, tmp_path):
    """Play `collectstatic` for one file; return how often it was called."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "page.css").write_text("a {}")
    settings.STATICFILES_DIRS = [tmp_path / "source"]
    settings.STATIC_ROOT = tmp_path / "root"
    called = []

    def play(command, **options):
        if command == "collectstatic":
            called.append(command)
            (tmp_path / "root").mkdir(exist_ok=True)
            (tmp_path / "root" / "page.1.css").write_text("a {}")
            (tmp_path / "root" / "staticfiles.json").write_text('{"paths": {"page.css": "page.1.css"}}')

    monkeypatch.setattr(prepare, "call_command", play)
    return called


def test_files_of_the_pages_are_made_once(collects):
    prepare.Command().collect(0)
    prepare.Command().collect(0)
    assert len(collects) == 1


@pytest.mark.parametrize("change", ["a source", "a lost file", "a lost manifest", "a release of what makes them"])
def test_files_of_the_pages_are_made_again_after(change, collects, tmp_path, monkeypatch):
    prepare.Command().collect(0)
    if change == "a source":
        (tmp_path / "source" / "page.css").write_text("a { color: red }")
    elif change == "a lost file":
        (tmp_path / "root" / "page.1.css").unlink()
    elif change == "a lost manifest":
        (tmp_path / "root" / "staticfiles.json").unlink()
    else:
        monkeypatch.setattr(prepare, "version", lambda name: f"{name} of tomorrow")
    prepare.Command().collect(0)
    assert len(collects) == 2
