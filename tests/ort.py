"""ONNX Runtime for tests: the npm package onnxruntime-node, kept in build/ort."""
import glob
import os
import platform
import shutil
import subprocess

HOME = os.path.abspath("build/ort")
MISSING = "onnxruntime-node cannot be had from npm here"


def have():
    """Whether the package is there, maybe after fetching it."""
    if os.path.isdir(os.path.join(HOME, "node_modules", "onnxruntime-node")):
        return True
    if not shutil.which("npm") or not shutil.which("node"):
        return False
    os.makedirs(HOME, exist_ok=True)
    try:
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                        "--prefix", HOME, "onnxruntime-node"], check=True, timeout=300,
                       capture_output=True)
    except (subprocess.SubprocessError, OSError):
        return False
    return True


def library():
    """The C library in the package for this machine; None: there is none."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "")
    found = glob.glob(os.path.join(HOME, "node_modules", "onnxruntime-node", "bin", "*", "linux",
                                   machine, "libonnxruntime.so*")) if machine and have() else []
    return found[0] if found else None
