"""Files that PyTorch exported: parameters and multiply-accumulates as PyTorch itself counts them."""
import io
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    from torch import nn
except ImportError:
    print("ok 1 - PyTorch exports # SKIP python3-torch is not installed")
    print("1..1")
    sys.exit(0)

warnings.filterwarnings("ignore")
BUILD = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
READ = os.path.join(BUILD, "examples", "read_onnx")


def conv(i, o, k=3, s=1, g=1):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o))


class Residual(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.a = conv(3, 8)
        self.b = conv(8, 8)
        self.act = act
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.act(self.a(x))
        x = self.act(x + self.b(x))
        x = nn.functional.adaptive_avg_pool2d(x, 1)
        return self.fc(x.view(x.size(0), -1))


class Gate(nn.Module):
    """Depthwise convolution, squeeze and excitation, dropout, mean as pooling."""

    def __init__(self):
        super().__init__()
        self.a = conv(3, 16, s=2)
        self.b = conv(16, 16, k=5, g=16)
        self.down = nn.Conv2d(16, 4, 1)
        self.up = nn.Conv2d(4, 16, 1)
        self.fc = nn.Linear(16, 7)

    def forward(self, x):
        x = nn.functional.hardswish(self.b(self.a(x)))
        g = x.mean((2, 3), keepdim=True)
        g = nn.functional.hardsigmoid(self.up(nn.functional.relu6(self.down(g))))
        x = nn.functional.dropout(x * g, 0.2, self.training)
        return self.fc(x.mean([2, 3]))


class Shuffle(nn.Module):
    """Channel shuffle, split and concat, average and maximum pools, padding, softmax."""

    def __init__(self):
        super().__init__()
        self.a = conv(3, 16)
        self.b = conv(8, 8, g=4)
        self.c = nn.Conv2d(16, 8, 3, padding=0)
        self.fc = nn.Linear(8 * 3 * 3, 10)

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.a(x), 0.1)
        n, c, h, w = x.size()
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)
        p, q = x.chunk(2, 1)
        x = torch.cat((p, self.b(q)), 1)
        x = nn.functional.max_pool2d(x, 3, 2, 1) + nn.functional.avg_pool2d(x, 3, 2, 1)
        x = torch.tanh(self.c(nn.functional.pad(x, (0, 1, 0, 1))))
        x = nn.functional.avg_pool2d(x, 2, ceil_mode=True)
        x = x[:, :, 1:, 1:] if x.size(2) > 3 else x
        return torch.softmax(self.fc(torch.flatten(x, 1)), -1)


def count(net, x):
    macs = 0

    def add(module, _, y):
        nonlocal macs
        per = y[0].numel()
        if isinstance(module, nn.Conv2d):
            macs += per * module.weight[0].numel()
        elif isinstance(module, nn.Linear):
            macs += per * module.in_features

    handles = [m.register_forward_hook(add) for m in net.modules()]
    net(x)
    for h in handles:
        h.remove()
    return sum(p.numel() for p in net.parameters()), macs


def check(net, size, opset, folder, batch, constant_folding):
    net.eval()
    x = torch.zeros(2, 3, size, size)
    params, macs = count(net, x)
    path = os.path.join(folder, "net.onnx")
    buffer = io.BytesIO()
    torch.onnx.export(net, x, buffer, opset_version=opset, input_names=["image"],
                      do_constant_folding=constant_folding,
                      training=torch.onnx.TrainingMode.EVAL,
                      dynamic_axes={"image": {0: "batch"}} if batch else None)
    with open(path, "wb") as f:
        f.write(buffer.getvalue())
    out = subprocess.run([READ, path], capture_output=True, text=True).stdout.strip()
    if "refused" in out:
        return out
    got = [int(v) for v in out.rsplit(",", 2)[1:]]
    # PyTorch folds batch norm into the convolution before it: scale and bias become one bias
    folded = sum(m.num_features for m in net.modules() if isinstance(m, nn.BatchNorm2d))
    if got[1] != macs or got[0] not in (params, params - folded):
        return f"params {got[0]} of {params} (or {params - folded}), macs {got[1]} of {macs}"
    return True


number = 0
with tempfile.TemporaryDirectory() as folder:
    for name, net, size, opsets in (
            ("residual relu", Residual(nn.functional.relu), 32, (9, 11, 13, 16)),
            ("residual silu", Residual(nn.functional.silu), 16, (11, 13)),
            ("residual gelu", Residual(nn.functional.gelu), 16, (13,)),
            ("gate", Gate(), 32, (11, 14, 16)),
            ("shuffle", Shuffle(), 13, (11, 13, 15))):
        for opset in opsets:
            for batch in (False, True):
                number += 1
                try:
                    good = check(net, size, opset, folder, batch, opset % 2 == 1)
                except Exception as e:
                    good = f"{type(e).__name__}: {e}"
                print(f"{'ok' if good is True else 'not ok'} {number} - {name}, opset {opset}, "
                      f"{'symbolic' if batch else 'fixed'} batch")
                if good is not True:
                    print(f"  {good}", file=sys.stderr)
print(f"1..{number}")
