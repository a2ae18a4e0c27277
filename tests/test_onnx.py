"""Exports of every space against Debian's onnx: checker, strict shape inference, parser, printer.

Up to 200 architectures a space within a share of time (NASLM_LONG: all of them)."""
import os
import subprocess
import sys
import tempfile
import time

import onnx
import onnx.numpy_helper
import onnx.parser
from onnx import helper, shape_inference

BUILD = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
EXPORT = os.path.join(BUILD, "examples", "export_many")
LONG = bool(os.environ.get("NASLM_LONG"))
SECONDS = 40.0  # for all spaces together
number = 0


def ok(good, what):
    global number
    number += 1
    print(f"{'ok' if good is True else 'not ok'} {number} - {what}")
    if good is not True:
        print(f"  {good}", file=sys.stderr)
    sys.stdout.flush()


def export(space, n, form, weights, folder, seed=0):
    prefix = os.path.join(folder, f"{form}-{weights}-{seed}-")
    subprocess.run([EXPORT, space, str(n), str(seed), form, weights, prefix], check=True)
    return [prefix + str(i) for i in range(n)]


def shapes(infos):
    def dims(info):
        shape = info.type.tensor_type.shape
        return [d.dim_param or d.dim_value for d in shape.dim]
    return {i.name: dims(i) for i in infos}


def inferred_equal(model):
    """What onnx infers without our value_info is what we wrote, for every tensor."""
    ours = {**shapes(model.graph.value_info), **shapes(model.graph.output)}
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for out in bare.graph.output:
        out.type.tensor_type.ClearField("shape")
    inferred = shape_inference.infer_shapes(bare, check_type=True, strict_mode=True,
                                            data_prop=True)
    theirs = {**shapes(inferred.graph.value_info), **shapes(inferred.graph.output)}
    made = {name for node in model.graph.node for name in node.output}
    if set(ours) != made:
        return f"value_info of {sorted(set(ours) ^ made)[:3]}"
    wrong = [(k, ours[k], theirs.get(k)) for k in ours if ours[k] != theirs.get(k)]
    return f"shapes differ: {wrong[:3]}" if wrong else True


def check_one(binary, text, printable, compact):
    with open(binary, "rb") as f:
        data = f.read()
    model = onnx.load_from_string(data)
    if model.SerializeToString(deterministic=True) != data:
        return "protobuf would write other bytes"
    onnx.checker.check_model(model, full_check=True)
    same = inferred_equal(model)
    if same is not True:
        return f"binary: {same}"
    with open(printable) as f:
        if f.read() != helper.printable_graph(model.graph):
            return "printable differs from printable_graph"
    with open(text) as f:
        parsed = onnx.parser.parse_model(f.read())
    onnx.checker.check_model(parsed, full_check=True)
    for node in model.graph.node:
        node.ClearField("name")  # the syntax has no node names
    for node in parsed.graph.node:
        node.ClearField("domain")
    if list(parsed.graph.node) != list(model.graph.node):
        return "nodes of text and binary differ"
    for ours, theirs in ((parsed.graph.input, model.graph.input),
                         (parsed.graph.output, model.graph.output),
                         (parsed.graph.value_info, model.graph.value_info)):
        if list(ours) != list(theirs):
            return "inputs, outputs or shapes of text and binary differ"
    for ours, theirs in zip(parsed.graph.initializer, model.graph.initializer):
        if (ours.name != theirs.name or
                onnx.numpy_helper.to_array(ours).tolist()
                != onnx.numpy_helper.to_array(theirs).tolist()):
            return f"initializer {ours.name} differs"
    with open(compact) as f:
        parsed = onnx.parser.parse_model(f.read())
    onnx.checker.check_model(parsed, full_check=True)
    local = {(f.domain, f.name) for f in parsed.functions}
    for f in parsed.functions:
        for node in f.node:
            if node.domain == "nas" and ("nas", node.op_type) not in local:
                return f"{f.name} calls the unknown {node.op_type}"
    return True


def check_space(space, n, seconds):
    stop = time.monotonic() + seconds
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < n and (LONG or done == 0 or time.monotonic() < stop):
            files = [export(space, 4, form, "none", folder, seed=done)
                     for form in ("onnx", "text", "printable", "compact")]
            for one in zip(*files):
                same = check_one(*one)
                if same is not True:
                    return same, done
                done += 1
        return True, done


def check_weights(space):
    """With weights the checker needs no other inputs than the data."""
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("zeros", "random"):
            for path in export(space, 1, "onnx", weights, folder):
                model = onnx.load(path)
                onnx.checker.check_model(model, full_check=True)
                names = {t.name for t in model.graph.initializer}
                if any(i.name in names for i in model.graph.input) or len(model.graph.input) != 1:
                    return "inputs"
                big = onnx.numpy_helper.to_array(max(model.graph.initializer,
                                                     key=lambda t: len(t.raw_data)))
                if (big != 0).any() != (weights == "random"):
                    return f"values of {weights}"
    return True


spaces = subprocess.run([EXPORT], check=True, capture_output=True, text=True).stdout.split()
for name in sys.argv[1:] or spaces:
    try:
        good, count = check_space(name, 200, SECONDS / len(spaces))
    except Exception as e:  # the checker's own sentence is what we want to see
        good, count = f"{type(e).__name__}: {e}", 0
    ok(good, f"{name}: {count} architectures pass onnx as binary, text, printable, compact")
    try:
        good = check_weights(name)
    except Exception as e:
        good = f"{type(e).__name__}: {e}"
    ok(good, f"{name}: files with weights")
print(f"1..{number}")
sys.exit(0)
