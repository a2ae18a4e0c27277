/* The prelude of every space: a function that the surrogate need not read has a body that follows
 * from its name alone, whatever the architecture, the task and the space. */
#include "spaces/graph.h"
#include "spaces/space.h"

#include "tests/check.h"

#include <stdlib.h>

static void print_attr(const nas_attr *attr, nas_bytes *out)
{
    if (attr->n == 0)
        nas_bytes_print(out, " %.9g", (double)attr->f);
    for (int i = 0; i < attr->n; i++) {
        if (nas_is_formal(attr->v[i]))
            nas_bytes_print(out, " @%d", (int)(attr->v[i] - NAS_FORMAL(0)));
        else
            nas_bytes_print(out, " %lld", (long long)attr->v[i]);
    }
    nas_bytes_putc(out, ';');
}

/* All of a function but its own name. */
static void print_body(const nas_graph *g, const nas_fn *fn, nas_bytes *out)
{
    nas_bytes_print(out, "%d inputs", fn->n_in);
    for (int i = 0; i < fn->n_formal; i++)
        nas_bytes_print(out, " %s", fn->formal[i]);
    for (size_t i = (size_t)fn->n_in; i < fn->n_node; i++) {
        const nas_node *node = &fn->node[i];
        bool call = node->op == NAS_OP_CALL;
        nas_bytes_print(out, "\n%s(", call ? g->fn[node->fn].name : nas_ops[node->op].onnx);
        for (int k = 0; k < node->n_in; k++)
            nas_bytes_print(out, " %d", node->in[k]);
        nas_bytes_putc(out, ')');
        for (int k = 0; k < node->n_attr; k++)
            print_attr(&node->attr[k], out);
    }
    nas_bytes_print(out, "\nreturn %d", fn->out);
}

typedef struct {
    char *name, *body;
    const char *space;
} entry;

static struct {
    entry *entry;
    size_t n, cap;
} known;

static void check_function(const nas_graph *g, const nas_fn *fn, const char *space)
{
    nas_bytes body = {0};
    print_body(g, fn, &body);
    size_t i = 0;
    while (i < known.n && strcmp(known.entry[i].name, fn->name))
        i++;
    if (i == known.n) {
        known.entry = nas_grow(known.entry, &known.cap, known.n + 1, sizeof *known.entry);
        known.entry[known.n++] = (entry){nas_strdup(fn->name), nas_strdup(body.data), space};
    } else if (strcmp(known.entry[i].body, body.data)) {
        fail_msg("'%s' is in %s\n%s\nand in %s\n%s", fn->name, known.entry[i].space,
                 known.entry[i].body, space, body.data);
    }
    nas_bytes_clear(&body);
}

static void test_bodies_follow_from_names(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(3);
    for (int k = 0; k < nas_space_count(); k++)
        for (int i = 0; i < 200; i++) {
            const nas_space *s = nas_spaces[k];
            nas_arch a;
            nas_space_sample(s, &rng, &a);
            nas_graph *g = nas_space_build(s, &a, &s->tasks[i % s->n_tasks]);
            for (size_t f = 1; f < g->n_fn; f++)
                if (g->fn[f].prelude)
                    check_function(g, &g->fn[f], s->name);
            nas_graph_free(g);
        }
    assert_in_range(known.n, 40, 1000);
    for (size_t i = 0; i < known.n; i++) {
        free(known.entry[i].name);
        free(known.entry[i].body);
    }
    free(known.entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_follow_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
