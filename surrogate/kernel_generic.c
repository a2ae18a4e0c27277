/* The plain-C path: what every other path must compute. */
#include "surrogate/kernel.h"

#include <math.h>
#include <string.h>

static bool always(void)
{
    return true;
}

static size_t packed_size(size_t k, size_t n)
{
    return k * n;
}

static void pack(size_t k, size_t n, nas_view b, float *packed)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            packed[i * n + j] = b.data[i * b.row + j * b.col];
}

static void run_plain(size_t m, size_t n, size_t k, nas_view a, const float *b, size_t ldb,
                      float *c, size_t ldc, nas_finish finish)
{
    for (size_t i = 0; i < m; i++) {
        if (!finish.add)
            memset(c + i * ldc, 0, n * sizeof *c);
        for (size_t l = 0; l < k; l++) {
            float scale = a.data[i * a.row + l * a.col];
            for (size_t j = 0; j < n; j++)
                c[i * ldc + j] += scale * b[l * ldb + j];
        }
    }
    nas_finish_block(m, n, finish, c, ldc);
}

static void run(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c, size_t ldc,
                nas_finish finish)
{
    run_plain(m, n, k, a, b, n, c, ldc, finish);
}

static void softmax_again(float *x, size_t n, float scale, float log_sum)
{
    for (size_t i = 0; i < n; i++)
        x[i] = expf(scale * x[i] - log_sum);
}

static float softmax(float *x, size_t n, float scale)
{
    float max = x[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        max = fmaxf(max, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += expf(scale * (x[i] - max));
    float log_sum = scale * max + logf(sum);
    softmax_again(x, n, scale, log_sum);
    return log_sum;
}

static void norm(const float *x, const float *w, const float *b, size_t n, float *y, float *stat)
{
    float mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i];
    mean /= (float)n;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    float rstd = 1 / sqrtf(variance / (float)n + 1e-5f);
    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    stat[0] = mean;
    stat[1] = rstd;
}

static void norm_back(const float *x, const float *w, const float *dy, const float *stat, size_t n,
                      float *dx)
{
    float mean = stat[0], rstd = stat[1], sum = 0, along = 0;
    for (size_t i = 0; i < n; i++) {
        sum += dy[i] * w[i];
        along += dy[i] * w[i] * (x[i] - mean) * rstd;
    }
    sum /= (float)n;
    along /= (float)n;
    for (size_t i = 0; i < n; i++)
        dx[i] += rstd * (dy[i] * w[i] - sum - (x[i] - mean) * rstd * along);
}

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(float *y, float scale, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

static const nas_product product = {packed_size, pack, run, run_plain, 1};
static const nas_rows rows = {softmax, softmax_again, norm, norm_back, dot, add_scaled};

const nas_kernels nas_kernels_generic = {"generic", always, &product, &product, &product, &rows};
