"""The README's sessions do what they show: every `$ command` of a console block is run, in order, in
one folder, and its output compared. A line "..." stands for any lines."""
import os
import re
import subprocess

import tap
from tap import case

README = os.path.abspath("README.md")
NASLM_DIR = os.path.dirname(tap.NASLM)


def sessions():
    with open(README) as file:
        for block in re.findall(r"```console\n(.*?)```", file.read(), re.S):
            steps = []
            for line in block.splitlines():
                if line.startswith("$ "):
                    steps.append([line[2:], []])
                elif line.startswith("> ") and not steps[-1][1]:
                    steps[-1][0] += "\n" + line[2:]
                else:
                    steps[-1][1].append(line)
            yield steps


def same(expected, got):
    """Whether the lines agree; "..." matches any number of lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(same(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and expected[0].rstrip() == got[0].rstrip() and same(expected[1:], got[1:])


@case
def sessions_print_what_they_show():
    env = dict(os.environ, PATH=NASLM_DIR + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
    steps = [step for session in sessions() for step in session]
    assert len(steps) >= 6, "the README shows no session"
    for command, expected in steps:
        done = subprocess.run(["sh", "-c", command], env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        got = done.stdout.splitlines()
        assert same(expected, got), (
            f"$ {command}\nexpected:\n" + "\n".join(expected) + "\ngot:\n" + "\n".join(got))


@case
def commands_of_the_program_are_in_readme_and_manual():
    text = open(README).read()
    manual = open(os.path.join(os.path.dirname(README), "search", "naslm.1")).read()
    listed = re.findall(r"^  (\w+) ", tap.naslm("--help")[0], re.M)
    assert len(listed) > 10
    for name in listed:
        assert f"naslm {name}" in text, name
        assert name in manual, name


if __name__ == "__main__":
    tap.main()
