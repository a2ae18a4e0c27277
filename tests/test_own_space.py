"""The example of a space of one's own: what it prints, against costs computed here."""
import os
import subprocess

build = os.path.dirname(os.environ.get("NASLM", "build/release/naslm"))
text = subprocess.run([os.path.join(build, "examples", "own_space")], check=True,
                      capture_output=True, text=True).stdout
rows = [line.split() for line in text.splitlines()]


def cost(digits):
    width, size, params, macs = 3, 32, 0, 0
    for i, digit in enumerate(map(int, digits)):
        out, k = 16 * (digit // 3 + 1), 2 * (digit % 3) + 3
        size //= 2 if i in (2, 4) else 1
        params += k * k * width * out + 2 * out
        macs += k * k * width * out * size * size
        width = out
    return params + 10 * width + 10, macs + 10 * width


good = len(rows) == 6 and all(cost(r[1]) == (int(r[2]), int(r[4])) for r in rows)
print("ok" if good else "not ok", "1 - costs of the example's networks")
pairs = zip(rows[::2], rows[1::2])
good = all(a[0] == "sample" and b[0] == "mutation" and
           sum(x != y for x, y in zip(a[1], b[1])) == 1 for a, b in pairs)
print("ok" if good else "not ok", "2 - mutations differ in one gene")
