"""The example of a predictor of one's own, and the example script of the bench."""
import os
import re
import subprocess
import tempfile

naslm = os.path.abspath(os.environ.get("NASLM", "build/release/naslm"))
data = os.path.abspath(os.environ.get("NASLM_DATA", "../shared/data"))
script = os.path.abspath("examples/bench_tau.sh")
text = subprocess.run([os.path.join(os.path.dirname(naslm), "examples", "own_predictor")], check=True,
                      capture_output=True, text=True).stdout
tau = [float(t) for t in re.findall(r"tau-b ([0-9.]+) over 500", text)]
print("ok" if len(tau) == 2 and min(tau) > 0.5 else "not ok", "1 - both predictors rank the made metric")

if os.access(data, os.R_OK):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["sh", script], cwd=folder, capture_output=True, text=True,
                             env=dict(os.environ, NASLM=naslm, NASLM_DATA=data, N="40", DRAWS="2",
                                      METHODS="ridge,krr-hamming,table:synflow"))
        rows = re.findall(r"^\| *(ridge|krr-hamming|table:synflow) *\| *40 *\| *2 *\|", run.stdout, re.M)
        good = run.returncode == 0 and len(rows) == 3 and os.path.exists(os.path.join(folder, "tau.h5"))
    print("ok" if good else "not ok", "2 - examples/bench_tau.sh prints a Markdown table")
else:
    print("ok 2 - examples/bench_tau.sh # SKIP no benchmark tables in " + data)
print("1..2")
