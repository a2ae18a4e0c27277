"""ONNX Runtime runs binary, text and compact of every space with the same weights: equal outputs, and
equal to the plain C reference. Arguments: spaces, else all."""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.numpy_helper
import onnx.parser

import ort

BUILD = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
EXPORT = os.path.join(BUILD, "examples", "export_many")
FORWARD = os.path.join(BUILD, "tests", "test_forward")
EACH = 20 if os.environ.get("NASLM_LONG") else 1
RUN = r"""
const ort = require(process.argv[2] + '/node_modules/onnxruntime-node');
const jobs = JSON.parse(require('fs').readFileSync(process.argv[3]));
(async () => {
  for (const job of jobs) {
    let answer;
    try {
      const s = await ort.InferenceSession.create(job.model,
        {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3});
      const n = job.dims.reduce((a, b) => a * b, 1), x = new Float32Array(n);
      for (let i = 0; i < n; i++) x[i] = i * 7919 % 2003 / 1001.0 - 1;
      const out = await s.run({[job.input]: new ort.Tensor('float32', x, job.dims)});
      answer = {y: Array.from(out[s.outputNames[0]].data)};
      await s.release();
    } catch (e) { answer = {error: String(e)}; }
    console.log(JSON.stringify(answer));
  }
})();
"""
number = 0


def ok(good, what):
    global number
    number += 1
    print(f"{'ok' if good is True else 'not ok'} {number} - {what}")
    if good is not True:
        print(f"  {good}", file=sys.stderr)
    sys.stdout.flush()


def export(space, form, weights, folder):
    prefix = os.path.join(folder, f"{form}-{weights}-")
    subprocess.run([EXPORT, space, str(EACH), "11", form, weights, prefix], check=True)
    return [prefix + str(i) for i in range(EACH)]


def parse(path):
    with open(path) as f:
        model = onnx.parser.parse_model(f.read())
    onnx.save(model, path + ".onnx")
    return path + ".onnx"


def parse_with_weights(path, binary):
    """The text asks for its weights as inputs: give it those of the binary file."""
    with open(path) as f:
        model = onnx.parser.parse_model(f.read())
    weights = {t.name: t for t in onnx.load(binary).graph.initializer}
    for i in list(model.graph.input)[1:]:
        model.graph.initializer.append(weights[i.name])
    del model.graph.input[1:]
    onnx.save(model, path + ".onnx")
    return path + ".onnx"


def jobs_of(space, folder):
    """For each architecture: binary, text and compact with generated weights, binary with random."""
    sine = export(space, "onnx", "sine", folder)
    random = export(space, "onnx", "random", folder)
    text = export(space, "text", "none", folder)
    compact = export(space, "compact", "none", folder)
    jobs = []
    for i in range(EACH):
        first = onnx.load(sine[i]).graph.input[0]
        dims = [d.dim_value or 1 for d in first.type.tensor_type.shape.dim]
        for path, name in ((sine[i], first.name), (parse_with_weights(text[i], sine[i]), first.name),
                           (parse(compact[i]), "x"), (random[i], first.name)):
            jobs.append({"model": path, "input": name, "dims": dims})
    return jobs


def is_dead(path):
    """Whether every path from the input to the output crosses a multiplication by zero: cells of
    which no operator is left. Such a network gives a constant, which may be zero."""
    graph = onnx.load(path).graph
    zero = {t.name for t in graph.initializer
            if not t.dims and onnx.numpy_helper.to_array(t) == 0}
    alive = {graph.input[0].name}
    for node in graph.node:
        if alive & set(node.input) and not (node.op_type == "Mul" and zero & set(node.input)):
            alive.update(node.output)
    return graph.output[0].name not in alive


def differ(a, b, most, dead):
    """The largest difference relative to the largest output, or a reason."""
    a, b = numpy.array(a, dtype=float), numpy.array(b, dtype=float)  # JSON has null for NaN
    if a.shape != b.shape:
        return f"{a.shape} and {b.shape} outputs"
    strange = [int((~numpy.isfinite(y)).sum()) for y in (a, b)]
    if any(strange):
        return f"{strange[0]} and {strange[1]} of {a.size} outputs are not finite"
    if not (dead or a.any()):
        return "all outputs are zero"
    if dead and not a.any():
        return "zero on one side only" if b.any() else True
    worst = numpy.abs(a - b).max() / numpy.abs(a).max()
    return True if worst < most else f"differ by {worst:g} of the largest"


def reference(path, weights, seed):
    out = subprocess.run([FORWARD, path, weights, str(seed)], check=True, capture_output=True,
                         text=True).stdout
    return [float(v) for v in out.split()]


def check_space(space, folder):
    jobs = jobs_of(space, folder)
    with open(os.path.join(folder, "jobs.json"), "w") as f:
        json.dump(jobs, f)
    with open(os.path.join(folder, "run.js"), "w") as f:
        f.write(RUN)
    out = subprocess.run(["node", os.path.join(folder, "run.js"), ort.HOME,
                          os.path.join(folder, "jobs.json")], check=True, capture_output=True,
                         text=True).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    for job, answer in zip(jobs, answers):
        if "error" in answer:
            return f"{os.path.basename(job['model'])}: {answer['error']}"
    for i in range(EACH):
        sine, text, compact, random = (a["y"] for a in answers[4 * i:4 * i + 4])
        dead = is_dead(jobs[4 * i]["model"])
        ours = reference(jobs[4 * i + 3]["model"], "random", i)
        # deep networks with random weights amplify the last bits of either side's sums
        for what, a, b, most in (("text", sine, text, 1e-4), ("compact", sine, compact, 1e-4),
                                 ("reference", random, ours, 1e-3)):
            same = differ(a, b, most, dead)
            if same is not True:
                return f"network {i}: binary and {what}: {same}"
    return True


if not ort.have():
    print(f"ok 1 - ONNX Runtime # SKIP {ort.MISSING}")
    print("1..1")
    sys.exit(0)
spaces = subprocess.run([EXPORT], check=True, capture_output=True, text=True).stdout.split()
for name in sys.argv[1:] or spaces:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            result = check_space(name, scratch)
        except Exception as e:
            result = f"{type(e).__name__}: {e}"
    ok(result, f"{name}: ONNX Runtime on binary, text, compact; the C reference")
print(f"1..{number}")
