#include "tests/sample.h"

static const char *const op[] = {
    "nas.relu_conv3x3_bn", "nas.relu_conv1x1_bn", "nas.avg_pool3x3", "nas.skip",      "nas.zeroize",
    "nas.mbconv",          "nas.max_pool3x3",     "nas.sep_conv5x5", "nas.factorized"};

static int pick(nas_rng *rng, int n)
{
    return (int)nas_rng_below(rng, (uint64_t)n);
}

static void cell(nas_rng *rng, nas_bytes *out, int id)
{
    int nodes = 3 + pick(rng, 6);
    nas_bytes_print(out, "cell%d <c> (x) => (y) {\n   n0 = Identity (x)\n", id);
    for (int i = 1; i <= nodes; i++) {
        const char *name = op[pick(rng, 9)];
        nas_bytes_print(out, "   n%d = %s <i: int=@c, o: int=@c> (n%d)\n", i, name, pick(rng, i));
        if (pick(rng, 2))
            nas_bytes_print(out, "   m%d = Add (n%d, n%d)\n", i, i, pick(rng, i));
    }
    nas_bytes_print(out, "   y = Sum (n%d, n%d)\n}\n", nodes, pick(rng, nodes));
}

void sample_network(nas_rng *rng, nas_bytes *out)
{
    int cells = 1 + pick(rng, 3), depth = 3 + pick(rng, 12), width = 8 << pick(rng, 4);
    nas_bytes_print(out, "net%d (float[N,3,%d,%d] x) => (float[N,%d] y) {\n", pick(rng, 5),
                    32 * (1 + pick(rng, 7)), 32, 10);
    nas_bytes_print(out, "   a0 = nas.conv3x3_bn <i=3,o=%d> (x)\n", width);
    for (int i = 1; i <= depth; i++)
        nas_bytes_print(out, "   a%d = nas.cell%d <c=%d> (a%d)\n", i, pick(rng, cells), width,
                        i - 1);
    nas_bytes_print(out, "   y = nas.head <i=%d,o=10> (a%d)\n}\n", width, depth);
    nas_bytes_puts(out, "<domain: \"nas\", opset_import: [\"\": 17, \"nas\": 1]>\n");
    for (int i = 0; i < cells; i++)
        cell(rng, out, i);
}

void sample_prose(nas_rng *rng, nas_bytes *out, size_t size)
{
    static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";
    for (size_t end = out->size + size; out->size < end;) {
        int n = 2 + pick(rng, 8);
        for (int i = 0; i < n; i++) {
            double u = nas_rng_unit(rng);
            nas_bytes_putc(out, letters[(int)(26 * u * u)]);
        }
        nas_bytes_putc(out, pick(rng, 9) ? ' ' : '\n');
    }
}
