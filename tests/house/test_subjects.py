"""scripts/subjects over repositories made for it: what it refuses, what it lets pass, where it has nothing to look at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "subjects"
WHY = "It is tested here."
NOBODY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as nobody in particular."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=os.environ | NOBODY, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, *message: str) -> None:
    """Make an empty commit; each further part of the message is a paragraph of its body."""
    git(folder, "commit", "--allow-empty", *(part for text in message for part in ("-m", text)))


def check(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script over a repository."""
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path):
    """A repository whose last commit adds the script; the one before it has a long subject and no body."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "x" * 90)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "subjects").write_bytes(SCRIPT.read_bytes())
    git(folder, "add", ".")
    git(folder, "commit", "-m", "house: " + "y" * 80)
    return folder


def test_commits_up_to_the_one_that_adds_it_are_left_alone(repository):
    assert check(repository).returncode == 0


def test_a_subject_of_72_characters_with_a_body_passes(repository):
    commit(repository, "a: " + "b" * 69, WHY)
    assert check(repository).returncode == 0


def test_a_subject_of_73_characters_is_refused(repository):
    commit(repository, "a: " + "b" * 70, WHY)
    done = check(repository)
    assert done.returncode == 1
    assert "73 characters; at most 72" in done.stderr
    assert "no body" not in done.stderr


def test_every_commit_since_is_looked_at(repository):
    commit(repository, "c" * 73, WHY)
    commit(repository, "d" * 74, WHY)
    commit(repository, "docs: Say why.", WHY, "And a second paragraph.")
    done = check(repository)
    assert "73 characters" in done.stderr
    assert "74 characters" in done.stderr
    assert "Say why" not in done.stderr


def test_a_commit_without_a_body_is_refused(repository):
    commit(repository, "docs: Change a thing.")
    done = check(repository)
    assert done.returncode == 1
    assert "docs: Change a thing.\n  no body says why" in done.stderr


def test_a_typo_needs_no_body(repository):
    commit(repository, "typo: Write receive.")
    assert check(repository).returncode == 0


def test_a_commit_of_a_branch_that_did_not_have_the_check_passes(repository):
    git(repository, "checkout", "--quiet", "-b", "older", "HEAD~1")
    commit(repository, "e" * 80)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-edit", "older")
    assert check(repository).returncode == 0


def test_a_shallow_clone_has_nothing_to_check(repository, tmp_path):
    commit(repository, "f" * 80)
    git(tmp_path, "clone", "--quiet", "--depth=2", repository.as_uri(), "shallow")
    assert check(repository).returncode == 1
    assert check(tmp_path / "shallow").returncode == 0


def test_without_git_or_a_repository_there_is_nothing_to_check(repository, tmp_path):
    commit(repository, "g" * 80)
    (tmp_path / "empty").mkdir()
    assert check(repository, PATH=str(tmp_path / "empty")).returncode == 0
    assert check(tmp_path / "empty", GIT_CEILING_DIRECTORIES=str(tmp_path)).returncode == 0


def test_scripts_check_runs_it():
    assert "run python scripts/subjects" in (ROOT / "scripts" / "check").read_text()
