"""The examples for build servers run as far as they can without a network."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from known_rate import with_rate

import standout

CI = Path(__file__).resolve().parents[2] / "examples" / "ci"
POLICY = """
attacks = ["scoreboard-rh"]
targets = 500
[adversary.a]
knows = 3
[[limit]]
max = {most}
adversaries = ["a"]
[end]
"""


@pytest.fixture
def project(tmp_path):
    """A project with data, a policy and the example script, and an environment in which `standout` is on the path."""
    rows = with_rate(0.045, n=1000).record_item.reshape(-1, 3)
    (tmp_path / "data").mkdir()
    lines = [f"u{r},i{i}" for r, row in enumerate(rows) for i in row]
    (tmp_path / "data" / "release.csv").write_text("user,item\n" + "\n".join(lines) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY.format(most=0.2))
    (tmp_path / "examples").symlink_to(CI.parent)
    tool = tmp_path / "bin" / "standout"
    tool.parent.mkdir()
    tool.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from standout.cli.app import main; main()' \"$@\"\n"
    )
    tool.chmod(0o755)
    keep = {k: v for k, v in os.environ.items() if k not in ("GITHUB_ACTIONS", "STANDOUT_KEY")}
    # the package under test, also where it is found by a relative path
    keep["PYTHONPATH"] = str(Path(standout.__file__).resolve().parents[1])
    return tmp_path, {**keep, "PATH": f"{tool.parent}{os.pathsep}{keep['PATH']}"}


def call(command, project, **more):
    folder, environment = project
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**environment, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def steps():
    jobs = yaml.safe_load((CI / "github-workflow.yml").read_text())["jobs"]
    return [
        step["run"]
        for step in jobs["check"]["steps"]
        if "run" in step and "pip install" not in step["run"]
    ]


def test_the_steps_of_the_workflow_pass_on_safe_data_and_write_what_it_uploads(project):
    assert len(steps()) == 2
    for command in steps():
        done = call(command, project, GITHUB_ACTIONS="true")
        assert done.returncode == 0, done.stderr
    assert {p.name for p in (project[0] / "out").iterdir()} == {
        "verdict.json",
        "verdict.html",
        "check.xml",
        "check.sarif",
        "evidence.json",
    }


@pytest.mark.slow
def test_the_first_step_of_the_workflow_stops_a_release_above_its_limit(project):
    (project[0] / "policy.toml").write_text(POLICY.format(most=0.001))
    done = call(steps()[0], project, GITHUB_ACTIONS="true")
    assert done.returncode == 1
    assert "::error" in done.stdout
    assert json.loads((project[0] / "out" / "verdict.json").read_text())["verdict"] == "fail"


@pytest.mark.slow
def test_the_hook_stops_a_commit_with_too_few_targets(project):
    hook = yaml.safe_load((CI / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]
    assert call(hook["entry"], project).returncode == 0
    few = hook["entry"].replace("--targets 500", "--targets 5")
    assert few != hook["entry"]
    assert call(few, project).returncode == 3
