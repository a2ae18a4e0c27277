#include "results/hypervolume.h"

#include "results/front.h"
#include "results/order.h"
#include "results/stairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Memory of one sweep level. Level d works in the first d objectives. */
typedef struct {
    double *active; /* (n, d - 1): seen, not dominated in d - 1 objectives, by the last of them */
    double *clip;   /* (n, d): others moved into the box of a point, by the last objective */
    size_t n_active;
} level;

typedef struct {
    nas_stairs stairs;
    level level[NAS_FRONT_COLUMNS + 1];
} sweep;

static bool covers(const double *a, const double *b, size_t d)
{
    for (size_t j = 0; j < d; j++)
        if (a[j] > b[j])
            return false;
    return true;
}

/* Adds (x, y) to the staircase and returns the area it newly covers up to (right, top). */
static double add_step(nas_stairs *s, double x, double y, double right, double top)
{
    size_t k = nas_stairs_find(s, x);
    if (nas_stairs_covers(s, k, y))
        return 0;
    double area = 0;
    if (k > 0)
        top = s->at[k - 1].y;
    size_t j = k;
    for (double left = x;; j++) { /* over the steps that (x, y) covers, then up to the next one */
        bool covered = j < s->n && s->at[j].y >= y;
        double next = j < s->n ? s->at[j].x : right;
        area += (next - left) * (top - y);
        if (!covered)
            break;
        left = next;
        top = s->at[j].y;
    }
    nas_stairs_put(s, k, x, y);
    return area;
}

/* Volume below r of points (n, 3) sorted by their last coordinate. */
static double volume_3(sweep *w, const double *points, size_t n, const double *r)
{
    double volume = 0;
    w->stairs.n = 0;
    for (size_t i = 0; i < n; i++) {
        const double *p = points + 3 * i;
        volume += add_step(&w->stairs, p[0], p[1], r[0], r[1]) * (r[2] - p[2]);
    }
    return volume;
}

/* Volume below r that p covers and none of others (n, 3; sorted by the last) does: upwards through
 * the last objective, the area of p's box that is still free. right and top close in on that area,
 * so that most others need two comparisons. */
static double exclusive_3(sweep *w, const double *p, const double *others, size_t n,
                          const double *r)
{
    const double *end = others + 3 * n;
    double right = r[0], top = r[1];
    for (const double *q = others; q < end && q[2] <= p[2]; q += 3) {
        right = q[1] <= p[1] && q[0] < right ? q[0] : right;
        top = q[0] <= p[0] && q[1] < top ? q[1] : top;
    }
    if (right <= p[0] || top <= p[1])
        return 0;
    double area = (right - p[0]) * (top - p[1]), depth = p[2], volume = 0;
    w->stairs.n = 0;
    for (const double *q = others; q < end; q += 3) {
        if (q[0] >= right || q[1] >= top)
            continue;
        if (q[2] > depth) {
            volume += area * (q[2] - depth);
            depth = q[2];
        }
        if (q[0] <= p[0] && q[1] <= p[1])
            return volume;
        double x = q[0] > p[0] ? q[0] : p[0], y = q[1] > p[1] ? q[1] : p[1];
        area -= add_step(&w->stairs, x, y, right, top);
        right = y == p[1] ? x : right;
        top = x == p[0] ? y : top;
    }
    volume += area * (r[2] - depth);
    return volume > 0 ? volume : 0;
}

static double volume_of(sweep *w, const double *points, size_t n, size_t d, const double *r);

/* How many coordinates of q are above those of p; *j is the last such one. */
static int count_above(const double *q, const double *p, size_t d, size_t *j)
{
    int count = 0;
    for (size_t i = 0; i < d; i++)
        if (q[i] > p[i]) {
            count++;
            *j = i;
        }
    return count;
}

/* Volume below r that p covers and none of others (n, d; sorted by the last) does, d > 2. A point
 * that is above p in a single objective covers all of the box from there on, so the box ends
 * there; what is left of the others is clipped to it. */
static double exclusive(sweep *w, const double *p, const double *others, size_t n, size_t d,
                        const double *r)
{
    if (d == 3)
        return exclusive_3(w, p, others, n, r);
    double end[NAS_FRONT_COLUMNS], box = 1, *clip = w->level[d].clip;
    memcpy(end, r, d * sizeof *end);
    for (const double *q = others; q < others + n * d; q += d) {
        size_t j = 0;
        int above = count_above(q, p, d, &j);
        if (above == 0)
            return 0;
        if (above == 1 && q[j] < end[j])
            end[j] = q[j];
    }
    for (size_t j = 0; j < d; j++)
        box *= end[j] - p[j];
    size_t n_clip = 0;
    for (const double *q = others; q < others + n * d; q += d) {
        bool in = true;
        for (size_t j = 0; j < d; j++) {
            in &= q[j] < end[j];
            clip[n_clip * d + j] = q[j] > p[j] ? q[j] : p[j];
        }
        n_clip += in;
    }
    return fmax(box - volume_of(w, clip, n_clip, d, end), 0);
}

/* Puts the first d - 1 coordinates of p among the active ones of level d, drops those it covers. */
static void activate(level *l, const double *p, size_t d)
{
    size_t k = d - 1, at = l->n_active;
    double *a = l->active;
    while (at > 0 && a[(at - 1) * k + k - 1] >= p[k - 1])
        at--;
    size_t kept = at; /* what p covers is not below it in the sorting coordinate */
    for (size_t i = at; i < l->n_active; i++)
        if (!covers(p, a + i * k, k)) {
            if (kept != i)
                memcpy(a + kept * k, a + i * k, k * sizeof *a);
            kept++;
        }
    memmove(a + (at + 1) * k, a + at * k, (kept - at) * k * sizeof *a);
    memcpy(a + at * k, p, k * sizeof *a);
    l->n_active = kept + 1;
}

/* Volume below r of points (n, d) sorted by their last coordinate, d > 2. */
static double volume_of(sweep *w, const double *points, size_t n, size_t d, const double *r)
{
    if (d == 3)
        return volume_3(w, points, n, r);
    level *l = &w->level[d];
    double volume = 0;
    l->n_active = 0;
    for (size_t i = 0; i < n; i++) {
        const double *p = points + i * d;
        double alone = exclusive(w, p, l->active, l->n_active, d - 1, r);
        if (alone > 0) {
            volume += alone * (r[d - 1] - p[d - 1]);
            activate(l, p, d);
        }
    }
    return volume;
}

/* The points below the reference, sorted by the last objective. One or two objectives are lifted to
 * three: 0 below a reference of 1 in the new ones changes no volume. */
typedef struct {
    size_t n, m;
    double *points;    /* (n, m) */
    uint32_t *row;     /* (n): where they came from */
    double *reference; /* (m) */
    int exponent;      /* the volume is 2^exponent times that of points and reference */
    bool endless;      /* a box is infinite */
} inside;

/* Scales each objective by a power of two so that the largest box has edges in [0.5, 1): exact, and
 * no product over- or underflows before the last one. */
static void scale_inside(inside *in)
{
    for (size_t j = 0; j < in->m; j++) {
        double edge = 0;
        for (size_t i = 0; i < in->n; i++)
            edge = fmax(edge, in->reference[j] - in->points[i * in->m + j]);
        int e;
        frexp(edge, &e);
        in->exponent += e;
        in->reference[j] = ldexp(in->reference[j], -e);
        for (size_t i = 0; i < in->n; i++)
            in->points[i * in->m + j] = ldexp(in->points[i * in->m + j], -e);
    }
}

static nas_status find_inside(inside *in, const double *points, size_t n, size_t m,
                              const double *reference, nas_err *err)
{
    *in = (inside){.m = m < 3 ? 3 : m};
    nas_status status = nas_front_check(points, n, m, err);
    if (status)
        return status;
    if (nas_front_check(reference, 1, m, err))
        return nas_fail_in(err, "the reference point");
    size_t lift = in->m - m;
    in->points = nas_zalloc(n * in->m + in->m, sizeof(double));
    in->reference = in->points + n * in->m;
    for (size_t j = 0; j < in->m; j++)
        in->reference[j] = j < lift ? 1 : reference[j - lift];
    uint32_t *order = nas_alloc(n * sizeof *order);
    nas_order_init(order, n);
    nas_order_by(points + m - 1, m, order, n);
    for (size_t i = 0; i < n; i++) {
        const double *p = points + order[i] * m;
        size_t j = 0;
        bool endless = false;
        for (; j < m && p[j] < reference[j]; j++)
            endless |= isinf(reference[j] - p[j]);
        if (j < m)
            continue;
        in->endless |= endless;
        memcpy(in->points + in->n * in->m + lift, p, m * sizeof *p);
        order[in->n++] = order[i];
    }
    in->row = order;
    if (!in->endless)
        scale_inside(in);
    return NAS_OK;
}

static void inside_clear(inside *in)
{
    free(in->points);
    free(in->row);
}

static void sweep_init(sweep *w, size_t n, size_t m)
{
    *w = (sweep){0};
    for (size_t d = 4; d <= m; d++) {
        w->level[d].active = nas_alloc((n + 1) * (d - 1) * sizeof(double));
        w->level[d].clip = nas_alloc((n + 1) * d * sizeof(double));
    }
}

static void sweep_clear(sweep *w)
{
    free(w->stairs.at);
    for (size_t d = 4; d <= NAS_FRONT_COLUMNS; d++) {
        free(w->level[d].active);
        free(w->level[d].clip);
    }
}

nas_status nas_hypervolume(const double *points, size_t n, size_t m, const double *reference,
                           double *volume, nas_err *err)
{
    inside in;
    nas_status status = find_inside(&in, points, n, m, reference, err);
    if (status)
        return status;
    sweep w;
    sweep_init(&w, in.n, in.m);
    *volume = INFINITY;
    if (!in.endless)
        *volume = ldexp(volume_of(&w, in.points, in.n, in.m, in.reference), in.exponent);
    sweep_clear(&w);
    inside_clear(&in);
    return NAS_OK;
}

/* Shares of two objectives, O(n log n): a front point has the box between its neighbours for
 * itself, less what the dominated points in that box cover. Columns of in are (.., x, y). */
static void share_flat(const inside *in, double *share)
{
    typedef struct {
        double x, y, left, top; /* left: up to where no dominated point covers the box */
        uint32_t row;
    } corner;
    corner *front = nas_alloc((in->n + 1) * sizeof *front);
    uint32_t *order = nas_alloc(in->n * sizeof *order);
    nas_order_init(order, in->n);
    nas_order_by(in->points + 1, 3, order, in->n);
    nas_order_by(in->points + 2, 3, order, in->n);
    double least = in->reference[1];
    double scale = ldexp(in->reference[0], in->exponent); /* all points are 0 there */
    size_t n_front = 0;
    for (size_t i = 0; i < in->n; i++) { /* upwards in y: front points go ever further in x */
        const double *p = in->points + order[i] * 3;
        if (p[1] < least)
            front[n_front++] = (corner){p[1], p[2], least, in->reference[2], in->row[order[i]]};
        least = fmin(least, p[1]);
    }
    for (size_t k = 0; k < n_front; k++) {
        if (k + 1 < n_front)
            front[k].top = front[k + 1].y;
        share[front[k].row] = (front[k].left - front[k].x) * (front[k].top - front[k].y);
    }
    for (size_t i = 0, k = 0; i < in->n; i++) {
        const double *p = in->points + order[i] * 3;
        while (k + 1 < n_front && front[k + 1].y <= p[2])
            k++;
        if (front[k].row == in->row[order[i]] || p[1] >= front[k].left)
            continue;
        share[front[k].row] -= (front[k].left - p[1]) * (front[k].top - p[2]);
        front[k].left = p[1];
    }
    for (size_t k = 0; k < n_front; k++)
        share[front[k].row] = fmax(share[front[k].row], 0) * scale;
    free(order);
    free(front);
}

/* Shares of three and more objectives: the exclusive volume of each against all others. */
static void share_deep(const inside *in, double *share)
{
    sweep w;
    sweep_init(&w, in->n, in->m);
    double *others = nas_alloc((in->n + 1) * in->m * sizeof *others);
    memcpy(others, in->points + in->m, (in->n - 1) * in->m * sizeof *others);
    for (size_t i = 0; i < in->n; i++) {
        const double *p = in->points + i * in->m;
        double alone = exclusive(&w, p, others, in->n - 1, in->m, in->reference);
        share[in->row[i]] = ldexp(alone, in->exponent);
        memcpy(others + i * in->m, p, in->m * sizeof *others); /* next time without i + 1 */
    }
    free(others);
    sweep_clear(&w);
}

nas_status nas_hypervolume_each(const double *points, size_t n, size_t m, const double *reference,
                                double *share, nas_err *err)
{
    inside in;
    nas_status status = find_inside(&in, points, n, m, reference, err);
    if (status)
        return status;
    memset(share, 0, n * sizeof *share);
    if (in.endless)
        status = nas_fail(err, NAS_FAILED, "shares of an infinite hypervolume do not exist");
    else if (in.n)
        (m <= 2 ? share_flat : share_deep)(&in, share);
    inside_clear(&in);
    return status;
}
