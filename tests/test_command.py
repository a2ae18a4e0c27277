"""Sources of the user's own: `command:CMD` with workers that fail, die, hang and talk nonsense."""
import json
import os
import signal
import subprocess
import time

import tap
from tap import case, naslm, refused

# Answers the closed form of toy. The first argument says how it misbehaves, by architecture.
WORKER = r'''
import json, math, os, sys, time
how = sys.argv[1]
def once(arch):
    """Whether this is the first time that any worker does this to arch."""
    try:
        os.close(os.open("once-" + arch, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
for line in iter(sys.stdin.readline, ""):
    ask = json.loads(line)
    assert ask["space"] == "toy" and ask["task"] == "cifar10", ask
    assert ask["metrics"] == ["accuracy", "latency:toy"], ask
    arch = ask["arch"]
    with open("log", "a") as log:
        log.write(arch + "\n")
    genes = [int(c) for c in arch]
    t, h, unlucky = sum(genes[::2]), sum(genes[1::2]), sum(genes) % 10 < 3
    answer = {"accuracy": 60 + 30 * math.sqrt(t / 15) - 2 * h, "latency:toy": 1 + t + h}
    if how == "refuse" and unlucky:
        answer = {"error": "does not fit"}
    if how == "crash" and unlucky:
        os._exit(5)
    if how == "flaky" and unlucky and once(arch):
        os.kill(os.getpid(), 9)
    if how == "hang" and genes[0] == 3 and genes[1] == 3:
        time.sleep(60)
    if how == "slow":
        time.sleep(0.02)
    if how == "nonsense" and unlucky:
        kind = genes[0]
        print(["no json", '{"accuracy": NaN, "latency:toy": 1}', '{"accuracy": "93"}', "[1, 2]"][kind],
              flush=True)
        continue
    print(json.dumps(answer), flush=True)
    if how == "chatty":
        print("by the way", flush=True)
    if how == "once":
        break
'''


def search(how, *more, out, code=0):
    return naslm(*command(how, *more, out=out), code=code)


def command(how, *more, out, objectives="max:accuracy,min:latency:toy"):
    if not os.path.exists("worker.py"):
        with open("worker.py", "w") as file:
            file.write(WORKER)
    return ["search", "-s", "toy", "--objectives", objectives, "--from",
            f"command:{tap.sys.executable} worker.py {how}", "--searcher", "nsga2", "--population",
            10, "--seed", 4, "-o", out, *more]


def rows(run, *more, code=0):
    return json.loads(naslm("front", run, "--all", "--format", "json", *more, code=code)[0])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def logged():
    return len(open("log").read().split()) if os.path.exists("log") else 0


def log():
    """The architectures that workers were asked for since the last call."""
    lines = open("log").read().split()
    os.remove("log")
    return lines


@case
def a_command_is_as_good_as_the_formula_with_any_number_of_workers():
    for workers in (1, 2, 5):
        search("good", "--budget", 60, "--workers", workers, out=f"w{workers}.h5")
        asked = log()
        assert len(asked) == 60 == len(set(asked))
    assert read("w1.h5") == read("w2.h5") == read("w5.h5")
    naslm("search", "-s", "toy", "--objectives", "max:accuracy,min:latency:toy", "--from", "formula",
          "--population", 10, "--seed", 4, "--budget", 60, "-o", "formula.h5")
    for a, b in zip(rows("w1.h5"), rows("formula.h5"), strict=True):
        assert abs(a.pop("accuracy") - b.pop("accuracy")) < 1e-9 and a == b


@case
def failing_calls_become_a_state_and_the_search_goes_on():
    for how, says in (("refuse", "does not fit"), ("crash", "exit code 5")):
        for workers in (1, 3):
            out, err = search(how, "--budget", 40, "--workers", workers, "--retries", 1,
                              out=f"{how}{workers}.h5")
            assert says in err, err
            asked = log()
        got = rows(how + "1.h5")
        failed = [r for r in got if r["state"] == "failed"]
        assert len(got) == 40 and 4 <= len(failed) <= 36, len(failed)
        for r in got:
            unlucky = sum(map(int, r["arch"])) % 10 < 3
            assert (r["state"] == "failed") == unlucky
            assert (r["accuracy"] is None) == unlucky and not (unlucky and r["on_front"] == "yes")
            assert asked.count(r["arch"]) == (2 if how == "crash" and unlucky else 1)
        assert read(how + "1.h5") == read(how + "3.h5")


@case
def a_dying_worker_is_replaced_and_nothing_is_lost():
    search("good", "--budget", 40, out="good.h5")
    log()
    for how in ("flaky", "once", "chatty"):
        retries = 0 if how == "once" else 1
        search(how, "--budget", 40, "--workers", 2, "--retries", retries, out=how + ".h5")
        assert read(how + ".h5") == read("good.h5"), how
        asked = log()
        most = max(asked.count(a) for a in set(asked))
        assert most <= (1 if how == "once" else 2), how


@case
def a_hanging_worker_is_given_up():
    start = time.time()
    out, err = search("hang", "--budget", 40, "--workers", 4, "--timeout", 1.5, "--retries", 0,
                      out="hang.h5")
    assert time.time() - start < 50
    hung = [r for r in rows("hang.h5") if r["arch"].startswith("33")]
    assert all(r["state"] == ("failed" if r in hung else "ok") for r in rows("hang.h5"))
    assert not hung or "no answer within 1.5 s" in err, err
    log()


@case
def nonsense_answers_are_failures():
    out, err = search("nonsense", "--budget", 40, "--retries", 1, out="nonsense.h5")
    got = rows("nonsense.h5")
    assert any(r["state"] == "failed" for r in got) and any(r["state"] == "ok" for r in got)
    for r in got:
        assert (r["state"] == "failed") == (sum(map(int, r["arch"])) % 10 < 3)
    asked = log()
    for r in got:
        if r["state"] == "failed":  # an object is an answer; anything else is tried again
            assert asked.count(r["arch"]) == (1 if r["arch"][0] == "2" else 2), r["arch"]


@case
def the_last_failure_is_told_plainly():
    for answer, says in (('{"error": "\\\\u001b[1mno"}', "The last failure: ?[1mno."),
                         ('{"accuracy": NaN}', "not a JSON object: invalid token near 'NaN'")):
        out, err = naslm("search", "-s", "toy", "--objectives", "max:accuracy", "--from",
                         f"command:sed -u 's/.*/{answer}/'", "--retries", 0, "--population", 2,
                         "--budget", 2, "-o", "plain.h5", "--force", code=3)
        assert says in err, err


@case
def stopped_and_killed_commands_ask_again_only_what_was_in_work():
    args = ["--budget", 60, "--workers", 2]
    search("good", *args, out="whole.h5")
    log()
    line = [tap.NASLM, *map(str, command("slow", *args, "--resume", out="stopped.h5"))]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        before = logged()
        child = subprocess.Popen(line, stderr=subprocess.DEVNULL)
        while logged() < before + 14:
            time.sleep(0.01)
        child.send_signal(number)
        assert child.wait() == code
    subprocess.run(line, check=True, stderr=subprocess.DEVNULL)
    assert read("whole.h5") == read("stopped.h5")
    asked = log()
    assert len(set(asked)) == 60 and len(asked) <= 60 + 3 * 2, len(asked)


@case
def a_generation_is_not_lost_with_its_last_answer():
    """One generation of 30, killed again and again before it is whole; failures are answers too."""
    args = ["--budget", 30, "--population", 30, "--retries", 0]
    search("refuse", *args, out="whole30.h5")
    log()
    line = [tap.NASLM, *map(str, command("refuse", *args, "--resume", out="killed30.h5"))]
    for kill in range(4):
        before = logged()
        child = subprocess.Popen(line, stderr=subprocess.DEVNULL)
        while logged() < before + 5 and child.poll() is None:
            time.sleep(0.001)
        child.kill()
        child.wait()
        assert os.path.exists("killed30.h5") or "0 rows" in naslm("check", "killed30.h5")[0]
    subprocess.run(line, check=True, stderr=subprocess.DEVNULL)
    assert read("whole30.h5") == read("killed30.h5")
    asked = log()
    assert len(set(asked)) == 30 and len(asked) <= 30 + 4, len(asked)


@case
def commands_that_cannot_work_are_refused():
    base = ["search", "-s", "toy", "--objectives", "max:accuracy", "--searcher", "random", "--seed", 1,
            "--budget", 64, "-o", "x.h5", "--force", "--from"]
    refused("'/nowhere/at-all' cannot be run (exit code 127)", *base, "command:/nowhere/at-all",
            code=1)
    refused("needs a command", *base, "command:")
    for option, value, says in (("--workers", 0, "--workers"), ("--timeout", 0, "--timeout"),
                                ("--retries", 9999, "--retries"), ("--batch", 0, "--batch")):
        refused(says, *base, "command:true", option, value)
    out, err = naslm(*base, "command:cat >/dev/null; exit 4", "--retries", 0, "--timeout", 0.05,
                     "--budget", 3, "--population", 3, code=3)
    assert "no architecture has numbers" in err, err
    for source in ("true", "echo '{'", "exit 3"):
        naslm(*base, "command:" + source, "--retries", 0, "--budget", 3, "--population", 3, code=3)


@case
def a_batch_is_part_of_what_a_run_is_but_workers_are_not():
    for searcher in ("evolution", "local"):
        for batch, workers in ((1, 2), (4, 1), (4, 3)):
            search("good", "--searcher", searcher, "--budget", 40, "--batch", batch, "--workers",
                   workers, out=f"b{batch}-{workers}-{searcher}.h5")
            asked = log()
            assert len(asked) == 40 == len(set(asked))  # also none twice in a batch
        assert read(f"b4-1-{searcher}.h5") == read(f"b4-3-{searcher}.h5")
        assert read(f"b4-1-{searcher}.h5") != read(f"b1-2-{searcher}.h5")


if __name__ == "__main__":
    tap.main()
