"""The peer of bench_rlm: the same model in PyTorch, written from its description, at its best.

    bench_rlm_peer.py D ENCODER_LAYERS DECODER_LAYERS HEADS FFN ENCODER_VOCAB DECODER_VOCAB
                      INPUT BATCH LENGTH

Prints, in f32 and in bf16 (autocast), for one and two threads, seconds of: a plain product of the
feed-forward layer's shape, the encoder, a greedy decode without a cache (as the public library
decodes), one with a cache, and a training step. Its f32 needs OpenBLAS (libopenblas0-pthread);
Debian's plain libblas is fifty times slower. bench_rlm starts it."""
import math
import os
import sys
import time

if "avx512f" in open("/proc/cpuinfo").read():
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")  # read when torch loads OpenBLAS

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("  # SKIP no PyTorch peer: python3-torch is not installed")
    sys.exit(0)


def attend(q, k, v, heads, causal=False):
    """(B,T,d) each -> (B,T,d)."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    score = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        score = score.masked_fill(torch.ones(score.shape[-2:]).triu(1).bool(), -math.inf)
    return (score.softmax(-1) @ v).transpose(1, 2).flatten(2)


def rotary(x, heads):
    half = x.shape[-1] // heads // 2
    angle = torch.arange(x.shape[1])[:, None] * 10000 ** (-torch.arange(half) / half)
    cos, sin = angle.cos().repeat(1, heads), angle.sin().repeat(1, heads)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(2)


def positions(start, n, d):
    speed = torch.exp(-torch.arange(0, d, 2) * (math.log(10000) / d))
    angle = torch.arange(start, start + n)[:, None] * speed
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


class Layer(nn.Module):
    def __init__(self, d, heads, ffn, cross):
        super().__init__()
        self.heads, self.cross = heads, cross
        self.norm = nn.ModuleList(nn.LayerNorm(d) for _ in range(3 if cross else 2))
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        if cross:
            self.q, self.kv, self.mix = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, ffn), nn.Linear(ffn, d)

    def forward(self, x, memory=None, cache=None):
        q, k, v = self.qkv(self.norm[0](x)).chunk(3, -1)
        if not self.cross:
            q, k = rotary(q, self.heads), rotary(k, self.heads)
        if cache is not None:  # one new token
            if "k" in cache:
                k, v = torch.cat((cache["k"], k), 1), torch.cat((cache["v"], v), 1)
            cache["k"], cache["v"] = k, v
        x = x + self.out(attend(q, k, v, self.heads, self.cross and cache is None))
        if self.cross:
            kv = self.kv(memory) if cache is None or "kv" not in cache else cache["kv"]
            if cache is not None:
                cache["kv"] = kv
            x = x + self.mix(attend(self.q(self.norm[1](x)), *kv.chunk(2, -1), self.heads))
        return x + self.down(F.relu(self.up(self.norm[-1](x))))


class Model(nn.Module):
    def __init__(self, d, encoder, decoder, heads, ffn, vocab, out):
        super().__init__()
        self.d = d
        self.embed, self.target = nn.Embedding(vocab, d), nn.Embedding(out, d)
        self.encoder = nn.ModuleList(Layer(d, heads, ffn, False) for _ in range(encoder))
        self.decoder = nn.ModuleList(Layer(d, heads, ffn, True) for _ in range(decoder))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, out)

    def encode(self, tokens):
        x = self.embed(tokens)
        for layer in self.encoder:
            x = layer(x)
        return self.norm(x)

    def decode(self, shifted, memory):
        x = self.target(shifted) + positions(0, shifted.shape[1], self.d)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.head(x)

    def step(self, token, at, memory, caches):
        x = self.target(token) + positions(at, 1, self.d)
        for layer, cache in zip(self.decoder, caches):
            x = layer(x, memory, cache)
        return self.head(x)[:, -1]


def plain_decode(model, tokens, length):
    memory, out = model.encode(tokens), torch.zeros(len(tokens), 1, dtype=torch.long)
    for _ in range(length - 1):
        out = torch.cat((out, model.decode(out, memory)[:, -1:].argmax(-1)), 1)


def cached_decode(model, tokens, length):
    memory, token = model.encode(tokens), torch.zeros(len(tokens), 1, dtype=torch.long)
    caches = [{} for _ in model.decoder]
    for t in range(length - 1):
        token = model.step(token, t, memory, caches).argmax(-1, keepdim=True)


def train(model, optimizer, tokens, shifted, target):
    optimizer.zero_grad()
    logits = model.decode(shifted, model.encode(tokens))
    F.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()


def report(kind, what, work):
    work()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"  torch {torch.get_num_threads()} threads {kind} {what:<16} {wall * 1e3:8.1f} ms wall"
          f" {cpu * 1e3:8.1f} ms CPU", flush=True)


def main():
    d, encoder, decoder, heads, ffn, vocab, out, n, batch, length = map(int, sys.argv[1:])
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    model = Model(d, encoder, decoder, heads, ffn, vocab, out)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    tokens = torch.randint(vocab, (batch, n))
    shifted, target = torch.randint(out, (batch, length)), torch.randint(out, (batch, length))
    a, b = torch.randn(batch * n, d), torch.randn(d, ffn)
    for kind, threads in (("f32", 1), ("f32", 2), ("bf16", 1), ("bf16", 2)):
        torch.set_num_threads(threads)
        x, y = (a.bfloat16(), b.bfloat16()) if kind == "bf16" else (a, b)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "bf16"):
            with torch.no_grad():
                report(kind, "product", lambda: x @ y)
                report(kind, "encoder", lambda: model.encode(tokens))
                report(kind, "decode, no cache", lambda: plain_decode(model, tokens, length))
                report(kind, "decode, cache", lambda: cached_decode(model, tokens, length))
            report(kind, "training step", lambda: train(model, optimizer, tokens, shifted, target))


main()
