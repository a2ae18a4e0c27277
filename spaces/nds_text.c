/* The one-line JSON genotype of NDS, and all spellings that mean the same. */
#include "spaces/nds.h"
#include "spaces/read.h"

#include <ctype.h>

static void print_concat(const char *key, unsigned concat, nas_bytes *out)
{
    nas_bytes_print(out, "\"%s_concat\":[", key);
    for (int s = 0, n = 0; s < NAS_NDS_NODES + 2; s++)
        if (concat >> s & 1)
            nas_bytes_print(out, "%s%d", n++ ? "," : "", s);
    nas_bytes_puts(out, "],");
}

void nas_nds_print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    const nas_nds_family *f = nas_nds_of(space)->family;
    nas_bytes_putc(out, '{');
    for (int cell = NAS_NDS_NORMAL; cell <= NAS_NDS_REDUCE; cell++) {
        nas_bytes_print(out, "\"%s\":[", nas_nds_cells[cell]);
        for (int i = 0; i < 2 * f->nodes; i++) {
            const uint8_t *pair = &a->gene[nas_nds_gene(f, cell, i / 2, i % 2)];
            nas_bytes_print(out, "%s[\"%s\",%d]", i ? "," : "", f->op[pair[0]].name, pair[1]);
        }
        nas_bytes_puts(out, "],");
        print_concat(nas_nds_cells[cell], nas_nds_concat(f, a, cell), out);
    }
    nas_bytes_print(out, "\"width\":%d,\"depth\":%d}", a->gene[NAS_NDS_WIDTH],
                    a->gene[NAS_NDS_DEPTH]);
}

/* Reads JSON and Python spellings alike: { } or Genotype( ), key: or key=, [ ] or ( ), either
 * quote, range(a, b), a bracket around the two inputs of a node. Genotype(...) and a bare list also
 * take values without keys: normal, normal_concat, reduce, reduce_concat. The records of NDS hold
 * the genotype in "net" and "genotype", beside keys that are skipped. Width, depth and
 * concatenations may be missing; no key comes twice, so objects nest three deep at most. */
typedef struct {
    nas_reader r;
    const nas_nds *space;
    nas_arch *out;
    unsigned seen;            /* bit key */
    unsigned concat[2];       /* as given */
    const char *concat_at[2]; /* NULL: not given */
} genotype;

enum {
    KEY_NORMAL,
    KEY_REDUCE,
    KEY_CONCAT,
    KEY_CONCAT2,
    KEY_WIDTH,
    KEY_DEPTH,
    KEY_NET,
    KEY_GENOTYPE,
    KEYS_KNOWN
};
static const char *const KEY[KEYS_KNOWN] = {"normal", "reduce", "normal_concat", "reduce_concat",
                                            "width",  "depth",  "net",           "genotype"};

/* Reads one of the two brackets and gives the one that closes it. */
static char open_list(nas_reader *r)
{
    bool round = nas_read_peek(r, '(');
    nas_read_char(r, round ? '(' : '[');
    return round ? ')' : ']';
}

static void read_pair(genotype *g, const char *const *names, uint8_t *pair, int states)
{
    int op = 0, state = 0;
    char close = open_list(&g->r);
    nas_read_quoted(&g->r, names, g->space->family->n_ops, "operator", &op);
    nas_read_char(&g->r, ',');
    nas_read_number(&g->r, 2, 0, states - 1, &state);
    nas_read_char(&g->r, close);
    pair[0] = (uint8_t)op;
    pair[1] = (uint8_t)state;
}

/* Whether two brackets open here: a pair would open one. */
static bool opens_node(nas_reader *r)
{
    if (!nas_read_peek(r, '[') && !nas_read_peek(r, '('))
        return false;
    const char *c = r->at + 1;
    while (isspace((unsigned char)*c))
        c++;
    return *c == '[' || *c == '(';
}

static void read_cell(genotype *g, int cell)
{
    const nas_nds_family *f = g->space->family;
    const char *names[NAS_NDS_OPS];
    for (int i = 0; i < f->n_ops; i++)
        names[i] = f->op[i].name;
    char close = open_list(&g->r);
    for (int node = 0; node < f->nodes; node++) {
        if (node)
            nas_read_char(&g->r, ',');
        char close_node = opens_node(&g->r) ? open_list(&g->r) : 0;
        for (int i = 0; i < 2; i++) {
            if (i)
                nas_read_char(&g->r, ',');
            read_pair(g, names, &g->out->gene[nas_nds_gene(f, cell, node, i)], node + 2);
        }
        if (close_node)
            nas_read_char(&g->r, close_node);
    }
    nas_read_char(&g->r, close);
}

static void read_concat(genotype *g, int cell)
{
    nas_reader *r = &g->r;
    int most = g->space->family->nodes + 1, first = 0, last = 0, ignored;
    bool range = nas_read_peek(r, 'r') &&
                 nas_read_word(r, (const char *const[]){"range"}, 1, "list", &ignored);
    g->concat_at[cell] = r->at;
    char close = open_list(r);
    do {
        nas_read_number(r, 2, 2, most, &first);
        if (range && nas_read_char(r, ',') && nas_read_number(r, 2, first, most + 1, &last))
            g->concat[cell] |= (1u << last) - (1u << first);
        else
            g->concat[cell] |= 1u << first;
    } while (!range && nas_read_peek(r, ',') && nas_read_char(r, ','));
    nas_read_char(r, close);
}

/* Width or depth; a -fix space takes its own alone. */
static int read_size(genotype *g, int gene, int fixed)
{
    int value = 0, low = g->space->fixed ? fixed : 1;
    int high = g->space->fixed ? fixed : NAS_NDS_NUMBER_MAX;
    nas_read_number(&g->r, 3, low, high, &value);
    g->out->gene[gene] = (uint8_t)value;
    return value;
}

static const char *skip_string(const char *at)
{
    char quote = *at++;
    while (*at && *at != quote)
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* Past any value, up to the comma or bracket that follows it. */
static void skip_value(nas_reader *r)
{
    int open = 0;
    for (const char *c = r->at; *c; r->at = c) {
        if (*c == '"' || *c == '\'') {
            c = skip_string(c);
            continue;
        }
        if (open == 0 && strchr(",)]}", *c))
            return;
        open += strchr("([{", *c) ? 1 : strchr(")]}", *c) ? -1 : 0;
        c++;
    }
}

/* A key, quoted or not, and its ':' or '='. KEYS_KNOWN: another key. */
static int read_key(nas_reader *r)
{
    nas_read_peek(r, '\0');
    const char *start = r->at, *end = start;
    if (*start == '"' || *start == '\'') {
        r->at = end = skip_string(start);
        start++;
        end -= end > start;
    } else {
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        r->at = end;
    }
    nas_read_char(r, nas_read_peek(r, '=') ? '=' : ':');
    for (int key = 0; key < KEYS_KNOWN; key++)
        if ((size_t)(end - start) == strlen(KEY[key]) && !memcmp(start, KEY[key], strlen(KEY[key])))
            return key;
    return KEYS_KNOWN;
}

static void read_object(genotype *g);

static void read_value(genotype *g, int key)
{
    switch (key) {
    case KEY_NORMAL:
    case KEY_REDUCE:
        read_cell(g, key - KEY_NORMAL);
        break;
    case KEY_CONCAT:
    case KEY_CONCAT2:
        read_concat(g, key - KEY_CONCAT);
        break;
    case KEY_WIDTH:
        if (read_size(g, NAS_NDS_WIDTH, NAS_NDS_WIDTH_DEFAULT) % 2)
            nas_read_fault(&g->r, g->r.at - 1, "an odd width cannot be halved");
        break;
    case KEY_DEPTH:
        read_size(g, NAS_NDS_DEPTH, NAS_NDS_DEPTH_DEFAULT);
        break;
    case KEYS_KNOWN:
        skip_value(&g->r);
        break;
    default: /* KEY_NET, KEY_GENOTYPE */
        read_object(g);
    }
}

/* Whether a list stands here, which needs no key in front. */
static bool is_list(nas_reader *r)
{
    return nas_read_peek(r, '[') || nas_read_peek(r, '(') ||
           (nas_read_peek(r, 'r') && !strncmp(r->at, "range", 5));
}

/* The bracket that closes an object, a call or a bare list, which is opened. */
static char open_object(nas_reader *r)
{
    int ignored;
    bool call = nas_read_peek(r, 'G') &&
                nas_read_word(r, (const char *const[]){"Genotype"}, 1, "word", &ignored);
    char open = call ? '(' : nas_read_peek(r, '[') ? '[' : '{';
    nas_read_char(r, open);
    return call ? ')' : open == '[' ? ']' : '}';
}

/* Other keys are skipped, but not beside the cells, where they can only be slips. */
static void read_object(genotype *g)
{
    static const int ORDER[] = {KEY_NORMAL, KEY_CONCAT, KEY_REDUCE, KEY_CONCAT2};
    nas_reader *r = &g->r;
    const char *other = NULL;
    bool cells = false;
    int n = 0;
    char close = open_object(r);
    do {
        bool keyless = close != '}' && n < 4 && is_list(r);
        const char *at = r->at;
        int key = keyless ? ORDER[n++] : read_key(r);
        if (key == KEYS_KNOWN)
            other = at;
        else if (g->seen & 1u << key)
            nas_read_fault(r, at, "'%s' is there twice", KEY[key]);
        else
            g->seen |= 1u << key;
        cells = cells || key <= KEY_REDUCE;
        if (!r->failed)
            read_value(g, key);
    } while (nas_read_peek(r, ',') && nas_read_char(r, ','));
    nas_read_char(r, close);
    if (cells && other)
        nas_read_fault(r, other, "this key is not one of a genotype");
}

nas_status nas_nds_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    genotype g = {.r = {text, text, err, false}, .space = nas_nds_of(space), .out = out};
    out->gene[NAS_NDS_WIDTH] = NAS_NDS_WIDTH_DEFAULT;
    out->gene[NAS_NDS_DEPTH] = NAS_NDS_DEPTH_DEFAULT;
    read_object(&g);
    for (int cell = NAS_NDS_NORMAL; cell <= NAS_NDS_REDUCE; cell++) {
        if (!(g.seen & 1u << cell))
            nas_read_fault(&g.r, NULL, "there is no '%s' cell", nas_nds_cells[cell]);
        unsigned concat = nas_nds_concat(nas_nds_of(space)->family, out, cell);
        if (g.concat_at[cell] && g.concat[cell] != concat) {
            nas_bytes right = {0};
            print_concat(nas_nds_cells[cell], concat, &right);
            nas_read_fault(&g.r, g.concat_at[cell], "in %s these nodes make %.*s", space->name,
                           (int)right.size - 1, right.data);
            nas_bytes_clear(&right);
        }
    }
    return nas_read_end(&g.r);
}
