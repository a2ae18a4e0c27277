/* Search guided by a predictor. After a random start a predictor (surrogate/predictor.h) is fitted
 * to the rows told so far, and asked about a pool of candidates: the whole space where that is
 * small, else random draws and mutants of the best, then mutants of what looks best. The most
 * promising ones are proposed until enough new rows are there to fit again.
 *
 * One objective: the best predicted value. Several: the best along random directions (pick.h), so
 * that proposals spread along the predicted front; a network whose output its input does not reach
 * has learned nothing, is not proposed and does not count for the range of the front. Constraints
 * hold for predicted values as they do for measured ones. All follows from the rows and the run's
 * seed; a row without numbers teaches nothing. */
#include "search/pick.h"
#include "search/searcher.h"
#include "surrogate/predictor.h"
#include "surrogate/signal.h"

#include <math.h>
#include <stdlib.h>

enum { BATCH, GROWTH, POOL, WHOLE, EXPLORE, RANDOM, PREDICTOR };

enum {
    ROUNDS = 3,        /* of mutants of what looks best */
    LIST = 256,        /* proposals of one fit, at most */
    PICKED = 64,       /* of which so many are along directions */
    ROWS_MOST = 250,   /* that a predictor is fitted to */
    ELITE = 30,        /* parents of mutants */
    SCREENED = 2000,   /* of a whole space, the best are looked at again until there */
    SCREEN_TENTHS = 5, /* are so many tenths more rows */
};

typedef struct {
    nas_search_setup setup;
    double options[NAS_SEARCHER_OPTIONS];
    nas_member *row; /* [n] told */
    double *value;   /* (n, metrics) */
    nas_arch_set known;
    nas_memo memo;  /* of what the predictor reads */
    nas_memo alive; /* bool: the input reaches the output */
    size_t n, row_cap, value_cap;
    size_t fitted;             /* rows at the last fit; 0: none */
    nas_arch *screen;          /* [n_screen] what is left of a whole space */
    size_t n_screen, screened; /* screened: rows then */
    nas_member *list;          /* [listed] proposals in order; id: none, parent as it is */
    size_t listed, next;
} guided;

static void *open(const nas_search_setup *setup, const double *options)
{
    guided *g = nas_zalloc(1, sizeof *g);
    g->setup = *setup;
    for (int i = 0; i <= PREDICTOR; i++)
        g->options[i] = options[i];
    g->list = nas_zalloc(LIST, sizeof *g->list);
    return g;
}

static void close(void *state)
{
    guided *g = state;
    nas_arch_set_clear(&g->known);
    nas_memo_clear(&g->memo);
    nas_memo_clear(&g->alive);
    free(g->row);
    free(g->value);
    free(g->list);
    free(g->screen);
    free(g);
}

/* ---- what counts ---- */

static size_t read_alive(const void *context, const nas_arch *arch, void *out)
{
    const nas_search_setup *s = context;
    nas_signal signal = {0};
    nas_graph *graph = nas_space_build(s->space, arch, s->task);
    const nas_graph *flat = nas_graph_flat(graph, NULL);
    if (flat)
        nas_signal_of(flat, &signal);
    nas_graph_free(graph);
    *(bool *)out = signal.energy > 0;
    return sizeof(bool);
}

/* With several objectives the cheapest networks are on the front whatever they learn: those that
 * are cut in two fail. */
static void fail_cut(guided *g, nas_member *member, const nas_arch *arch, size_t n)
{
    if (g->setup.m == 1)
        return;
    const bool **alive = nas_alloc((n + 1) * sizeof *alive);
    nas_memo_read(&g->alive, arch, n, read_alive, &g->setup, sizeof(bool), (const void **)alive);
    for (size_t i = 0; i < n; i++)
        member[i].failed |= !*alive[i];
    free(alive);
}

/* ---- what is learned from ---- */

/* The rows to learn from: all, or the better half of what fits and the newest others. Returns how
 * many. */
static size_t choose_rows(const guided *g, size_t *row)
{
    size_t n = g->n < ROWS_MOST ? g->n : ROWS_MOST, kept = 0;
    if (n == g->n) {
        for (size_t i = 0; i < n; i++)
            row[i] = i;
        return n;
    }
    bool *taken = nas_zalloc(g->n, sizeof *taken);
    size_t *order = nas_alloc(g->n * sizeof *order);
    nas_pick_by_order(g->row, g->n, g->setup.m, order);
    for (size_t i = 0; i < n / 2; i++)
        taken[order[i]] = true;
    for (size_t i = g->n, left = n - n / 2; left > 0; i--) {
        left -= !taken[i - 1];
        taken[i - 1] = true;
    }
    for (size_t i = 0; i < g->n; i++)
        if (taken[i])
            row[kept++] = i;
    free(order);
    free(taken);
    return kept;
}

/* False: nothing to learn from yet. */
static bool fit(guided *g, nas_predictor *predictor)
{
    const nas_search_setup *s = &g->setup;
    size_t *row = nas_alloc((g->n + 1) * sizeof *row), n = choose_rows(g, row);
    nas_arch *arch = nas_alloc((n + 1) * sizeof *arch);
    double *value = nas_alloc((n + 1) * s->metrics * sizeof *value);
    for (size_t i = 0; i < n; i++) {
        arch[i] = g->row[row[i]].arch;
        for (size_t k = 0; k < s->metrics; k++) {
            double v = g->value[row[i] * s->metrics + k];
            value[i * s->metrics + k] = isfinite(v) ? v : NAN;
        }
    }
    const nas_labels labels = {s->space, s->task, arch, n, s->metric, s->metrics, value, &g->memo};
    nas_rng rng = nas_rng_child(&s->rng, "fit", g->n);
    nas_status status = nas_predictor_fit(predictor, nas_predictors[(size_t)g->options[PREDICTOR]],
                                          &labels, nas_rng_next(&rng), NULL);
    free(value);
    free(arch);
    free(row);
    return status == NAS_OK;
}

/* ---- the pool ---- */

typedef struct {
    nas_member *member; /* [n] */
    size_t n, cap;
    nas_arch_set seen;
} pool;

static void add_candidate(const guided *g, pool *p, const nas_arch *arch, int64_t parent)
{
    bool added = false;
    if (nas_arch_set_find(&g->known, arch) < 0)
        nas_arch_set_add(&p->seen, arch, &added);
    if (!added)
        return;
    p->member = nas_grow(p->member, &p->cap, p->n + 1, sizeof *p->member);
    p->member[p->n++] = (nas_member){.arch = *arch, .id = -1, .parent = parent};
}

static void draw(const guided *g, nas_rng *rng, pool *p)
{
    nas_arch arch;
    if (!g->setup.listed)
        nas_space_sample(g->setup.space, rng, &arch);
    else if (!g->setup.at(g->setup.list, nas_rng_below(rng, g->setup.listed), &arch))
        return;
    add_candidate(g, p, &arch, -1);
}

/* Mutants of the best of n members; they may be members of the pool, which moves. */
static void breed(const guided *g, nas_rng *rng, pool *p, const nas_member *from, size_t n,
                  size_t count)
{
    size_t *order = nas_alloc((n + 1) * sizeof *order);
    nas_pick_by_order(from, n, g->setup.m, order);
    size_t elite = n < ELITE ? n : ELITE;
    nas_member *parent = nas_alloc((elite + 1) * sizeof *parent);
    for (size_t i = 0; i < elite; i++)
        parent[i] = from[order[i]];
    for (size_t i = 0; i < count && elite > 0; i++) {
        const nas_member *a = &parent[nas_rng_below(rng, elite)];
        nas_arch once, twice;
        nas_space_mutate(g->setup.space, rng, &a->arch, &once);
        if (nas_rng_below(rng, 3) == 0) {
            nas_space_mutate(g->setup.space, rng, &once, &twice);
            once = twice;
        }
        add_candidate(g, p, &once, a->id >= 0 ? a->id : a->parent);
    }
    free(parent);
    free(order);
}

/* Fills the members from `begin` on with what is predicted. Returns false where that fails. */
static bool predict(guided *g, const nas_predictor *predictor, pool *p, size_t begin)
{
    const nas_search_setup *s = &g->setup;
    size_t n = p->n - begin;
    nas_arch *arch = nas_alloc((n + 1) * sizeof *arch);
    double *mean = nas_alloc((n + 1) * s->metrics * sizeof *mean);
    double *spread = nas_alloc((n + 1) * s->metrics * sizeof *spread);
    for (size_t i = 0; i < n; i++)
        arch[i] = p->member[begin + i].arch;
    nas_status status = nas_predictor_predict(predictor, arch, n, mean, spread, NULL);
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        nas_member *member = &p->member[begin + i];
        double *value = mean + i * s->metrics;
        member->violation = s->violation ? s->violation(s->context, value) : 0;
        memcpy(member->f, value, s->m * sizeof *value);
        nas_objectives_minimise(member->f, 1, s->metric, s->m);
        for (size_t k = 0; k < s->m; k++) {
            member->f[k] -= g->options[EXPLORE] * spread[i * s->metrics + k];
            member->failed |= (bool)isnan(member->f[k]);
        }
    }
    fail_cut(g, p->member + begin, arch, n);
    free(spread);
    free(mean);
    free(arch);
    return status == NAS_OK;
}

static bool whole_is_small(const guided *g)
{
    const nas_search_setup *s = &g->setup;
    uint64_t points = nas_space_points(s->space);
    double most = g->options[WHOLE];
    return s->listed ? (double)s->listed <= most : points > 0 && (double)points <= most;
}

static void add_whole(const guided *g, pool *p)
{
    const nas_search_setup *s = &g->setup;
    uint64_t points = s->listed ? s->listed : nas_space_points(s->space);
    nas_arch arch;
    for (uint64_t i = 0; i < points; i++) {
        bool good = true;
        if (s->listed)
            good = s->at(s->list, i, &arch);
        else
            nas_space_at(s->space, i, &arch);
        if (good && nas_space_valid(s->space, &arch))
            add_candidate(g, p, &arch, -1);
    }
}

/* The whole space now and then, and between that the best of it. */
static bool fill_whole(guided *g, const nas_predictor *predictor, pool *p)
{
    bool again = 10 * g->n < (10 + SCREEN_TENTHS) * g->screened;
    for (size_t i = 0; again && i < g->n_screen; i++)
        add_candidate(g, p, &g->screen[i], -1);
    if (!again || p->n < LIST) {
        add_whole(g, p);
        again = false;
    }
    bool good = predict(g, predictor, p, 0);
    if (again || !good)
        return good;
    size_t *order = nas_alloc((p->n + 1) * sizeof *order);
    nas_pick_by_order(p->member, p->n, g->setup.m, order);
    g->n_screen = p->n < SCREENED ? p->n : SCREENED;
    g->screened = g->n;
    free(g->screen);
    g->screen = nas_alloc((g->n_screen + 1) * sizeof *g->screen);
    for (size_t i = 0; i < g->n_screen; i++)
        g->screen[i] = p->member[order[i]].arch;
    free(order);
    return true;
}

static bool fill_pool(guided *g, const nas_predictor *predictor, nas_rng *rng, pool *p)
{
    size_t size = (size_t)g->options[POOL];
    if (whole_is_small(g))
        return fill_whole(g, predictor, p);
    for (size_t i = 0; i < size / 2; i++)
        draw(g, rng, p);
    breed(g, rng, p, g->row, g->n, size / 2);
    bool good = predict(g, predictor, p, 0);
    for (int round = 0; round < ROUNDS && good; round++) {
        size_t begin = p->n;
        breed(g, rng, p, p->member, p->n, size / 2);
        good = predict(g, predictor, p, begin);
    }
    return good;
}

/* ---- the proposals ---- */

static void make_list(guided *g, nas_rng *rng, const pool *p)
{
    size_t *order = nas_alloc((PICKED + p->n + 1) * sizeof *order), picked = 0;
    bool *taken = nas_zalloc(p->n + 1, sizeof *taken);
    g->listed = g->next = 0;
    if (g->setup.m > 1)
        picked = nas_pick_by_direction(p->member, p->n, g->setup.m, PICKED, rng, order);
    nas_pick_by_order(p->member, p->n, g->setup.m, order + picked);
    for (size_t i = 0; i < picked + p->n && g->listed < LIST; i++)
        if (!taken[order[i]] && !p->member[order[i]].failed) {
            taken[order[i]] = true;
            g->list[g->listed++] = p->member[order[i]];
        }
    free(taken);
    free(order);
}

static void learn(guided *g)
{
    nas_predictor predictor = {0};
    pool p = {0};
    nas_rng rng = nas_rng_child(&g->setup.rng, "pool", g->n);
    g->fitted = g->n;
    g->listed = g->next = 0;
    if (fit(g, &predictor) && fill_pool(g, &predictor, &rng, &p))
        make_list(g, &rng, &p);
    nas_predictor_clear(&predictor);
    nas_arch_set_clear(&p.seen);
    free(p.member);
}

/* ---- the searcher ---- */

/* Rows before the first fit: one value is learned sooner than a front. */
static size_t start_of(const nas_search_setup *s)
{
    return s->m == 1 ? (s->population + 1) / 2 : s->population;
}

static void ask(void *state, nas_rng *rng, nas_proposal *out)
{
    guided *g = state;
    out->parent[0] = out->parent[1] = -1;
    if (g->n >= start_of(&g->setup)) {
        double news = (double)(g->n - g->fitted), share = g->options[GROWTH] * (double)g->n;
        if (g->fitted == 0 ||
            (news >= g->options[BATCH] && (news >= share || g->next == g->listed)))
            learn(g);
        if (g->next < g->listed && nas_rng_unit(rng) >= g->options[RANDOM]) {
            const nas_member *best = &g->list[g->next++];
            out->arch = best->arch;
            out->parent[0] = best->parent;
            return;
        }
    }
    nas_space_sample(g->setup.space, rng, &out->arch);
}

static void tell(void *state, const nas_member *members, size_t n)
{
    guided *g = state;
    size_t metrics = g->setup.metrics;
    g->row = nas_grow(g->row, &g->row_cap, g->n + n, sizeof *g->row);
    g->value = nas_grow(g->value, &g->value_cap, (g->n + n) * metrics, sizeof *g->value);
    for (size_t i = 0; i < n; i++, g->n++) {
        g->row[g->n] = members[i];
        memcpy(g->value + g->n * metrics, members[i].value, metrics * sizeof *g->value);
        nas_arch_set_add(&g->known, &members[i].arch, NULL);
        fail_cut(g, &g->row[g->n], &members[i].arch, 1);
    }
}

static const char *predictor_name(size_t i)
{
    return nas_predictors[i] ? nas_predictors[i]->name : NULL;
}

static const nas_searcher_option OPTIONS[] = {
    [BATCH] = {"batch", 5, 1, 1e6, "new rows after which the predictor is fitted again, ",
               .whole = true},
    [GROWTH] = {"growth", 0.05, 0, 10, "and the share of all rows that they must be"},
    [POOL] = {"pool", 500, 2, 1e6, "candidates of a round where the space is large", .whole = true},
    [WHOLE] = {"whole", 20000, 0, 1e6, "a space of so many strings is the pool itself",
               .whole = true},
    [EXPLORE] = {"explore", 0, -10, 10, "spreads by which predictions are better than their mean"},
    [RANDOM] = {"random", 0, 0, 1, "chance of a random proposal"},
    [PREDICTOR] = {.name = "predictor",
                   .fallback_name = "krr-both",
                   .name_of = predictor_name,
                   .help = "as naslm bench predictors lists them"},
    {0}};

const nas_searcher_type nas_searcher_guided = {
    .name = "guided",
    .summary = "the most promising candidates of a predictor fitted to all rows so far",
    .steady = true,
    .population = 20,
    .asks = LIST,
    .options = OPTIONS,
    .open = open,
    .close = close,
    .ask = ask,
    .tell = tell,
};
