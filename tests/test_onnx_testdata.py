"""The models of Debian's libonnx-testdata: each is read or refused with a sentence, no crash."""
import glob
import os
import subprocess
import sys

BUILD = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
READ = os.path.join(BUILD, "examples", "read_onnx")
FOLDER = "/usr/share/libonnx-testdata/data"

files = sorted(glob.glob(os.path.join(FOLDER, "**", "*.onnx"), recursive=True))
if not files:
    print("ok 1 - models of libonnx-testdata # SKIP the package is not installed")
    print("1..1")
    sys.exit(0)
run = subprocess.run([READ, *files], capture_output=True, text=True)
lines = run.stdout.splitlines()
refused = [line for line in lines if line.startswith("refused: ")]
done = run.returncode == 1 and len(lines) == len(files)
print(f"{'ok' if done else 'not ok'} 1 - {len(files)} models: {len(files) - len(refused)} read, "
      f"{len(refused)} refused")
named = all(line.startswith(f"refused: '{f}': ") and len(line) > len(f) + 20
            for f, line in zip(files, lines) if line in refused)
print(f"{'ok' if named else 'not ok'} 2 - every refusal names the file and says why")
enough = len(files) - len(refused) >= 120
print(f"{'ok' if enough else 'not ok'} 3 - convolutional networks among them are read")
if not done:
    print(run.stderr[-2000:], file=sys.stderr)
print("1..3")
