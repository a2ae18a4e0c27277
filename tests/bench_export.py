"""Peer of bench_export: python3-onnx building and serialising the same binary graphs."""
import os
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import helper

BUILD = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
N = 20


def rebuild(model):
    """The model again through onnx.helper, from plain values as a generator would hold them."""
    nodes = [helper.make_node(n.op_type, list(n.input), list(n.output), name=n.name,
                              **{a.name: helper.get_attribute_value(a) for a in n.attribute})
             for n in model.graph.node]

    def infos(values):
        return [helper.make_tensor_value_info(
            v.name, v.type.tensor_type.elem_type,
            [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]) for v in values]
    graph = helper.make_graph(nodes, model.graph.name, infos(model.graph.input),
                              infos(model.graph.output), list(model.graph.initializer),
                              value_info=infos(model.graph.value_info))
    return helper.make_model(graph).SerializeToString()


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([os.path.join(BUILD, "examples", "export_many"), "nb201", str(N), "1", "onnx",
                    "none", os.path.join(folder, "m")], check=True)
    models = [onnx.load(os.path.join(folder, f"m{i}")) for i in range(N)]
    start = time.process_time()
    for m in models:
        rebuild(m)
    each = (time.process_time() - start) / N
    start = time.process_time()
    for m in models:
        helper.printable_graph(m.graph)
    text = (time.process_time() - start) / N
print(f"python3-onnx, nb201: {1 / each:.0f} binary and {1 / text:.0f} printable a second")
sys.exit(0)
