#!/usr/bin/python3
"""Turns a checkpoint of the public regress-lm library (torch.save) into a safetensors file.

    rlm_convert.py checkpoint.pt model.safetensors --set heads=8 --set max_input_len=2048

Sizes follow from the tensors; heads and the window do not and are given with --set KEY=TEXT, as is
any other text for the metadata. Only torch is needed."""
import argparse
import json
import struct

import torch


def weights_of(checkpoint):
    """The model's tensors: of a training checkpoint or of a bare state dictionary."""
    state = checkpoint.get("model_state", checkpoint)
    return {name: value for name, value in state.items() if torch.is_tensor(value)
            and value.is_floating_point()}


def write(path, tensors, metadata):
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, value in tensors.items():
        blob = value.detach().to("cpu", torch.float32).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.writelines(blobs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("output")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=TEXT")
    args = parser.parse_args()
    metadata = dict(item.split("=", 1) for item in args.set)
    checkpoint = torch.load(args.checkpoint, map_location="cpu")
    write(args.output, weights_of(checkpoint), metadata)


if __name__ == "__main__":
    main()
