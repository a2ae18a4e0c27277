"""Rank correlation against scipy: the columns go to the test program test_rank as a file."""
import os
import subprocess
import tempfile

import numpy as np
from scipy import stats

PROGRAM = os.path.join(os.path.dirname(os.environ.get("NASLM", "build/release/naslm")),
                       "tests", "test_rank")


def ours(x, y):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for a, b in zip(x, y):
            file.write(f"{float(a)!r} {float(b)!r}\n")
        file.flush()
        return [float(v) for v in subprocess.check_output([PROGRAM, file.name]).split()]


def main():
    rng = np.random.default_rng(5)
    worst = 0
    for round_ in range(60):
        n = int(rng.integers(2, 400))
        values = int(rng.choice([2, 3, 10, 10**6]))
        x = rng.integers(0, values, n)
        y = x + rng.integers(0, values, n) if round_ % 2 else rng.integers(0, values, n)
        if len(set(x)) < 2 or len(set(y)) < 2:
            continue
        got = ours(x, y)
        want = [n, None, stats.kendalltau(x, y).statistic, stats.spearmanr(x, y).correlation]
        worst = max([worst] + [abs(g - w) for g, w in zip(got, want) if w is not None])
    x = rng.normal(size=20000)
    y = np.round(x + rng.normal(size=20000), 1)
    got = ours(x, y)
    worst = max(worst, abs(got[2] - stats.kendalltau(x, y).statistic),
                abs(got[3] - stats.spearmanr(x, y).correlation))
    good = worst < 1e-12
    print("1..1")
    print(f"{'ok' if good else 'not ok'} 1 - tau-b and Spearman as scipy ({worst:.1e} apart)")
    return not good


raise SystemExit(main())
