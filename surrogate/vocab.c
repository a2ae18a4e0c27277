#include "surrogate/vocab.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing, at most half full; no key is 0. */
typedef struct {
    uint32_t key, id;
} entry;

/* A node of the trie of pieces. Children stand together in order of their bytes. */
typedef struct {
    uint32_t child; /* the first of n */
    uint16_t n;
    uint16_t id; /* of the piece that ends here, or 0 */
} node;

/* A piece that encoding never gives, because its bytes always become others, is not in the trie. */
struct nas_vocab {
    bool whole; /* pieces may hold digits */
    int32_t pieces;
    nas_merge *merge; /* (pieces - 256) */
    uint32_t *start;  /* (pieces + 2): where the bytes of an id begin; the pad has none */
    char *bytes;
    entry *pair; /* (1 << 32 - shift) left << 16 | right -> id */
    int shift;
    node *trie;       /* the root, the 256 bytes, … by depth */
    char *label;      /* (nodes) the byte that leads to a node */
    uint16_t *within; /* (pieces + 1) the longest piece that this one begins with, or 0 */
};

enum { NONE = INT32_MAX, FIRST_MERGE = 1 + NAS_VOCAB_BYTES };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- pairs ---- */

/* The entry of a pair, or the empty one where it belongs. */
static entry *find(const nas_vocab *vocab, int32_t left, int32_t right)
{
    uint32_t key = (uint32_t)left << 16 | (uint32_t)right;
    uint32_t at = (key * 0x9E3779B1u) >> vocab->shift;
    while (vocab->pair[at].key && vocab->pair[at].key != key)
        at = (at + 1) & (UINT32_MAX >> vocab->shift);
    return &vocab->pair[at];
}

/* Does text of these two pieces stay these two? Taking the merges inside them back, the latest
 * first, shows every pair that ever met at the border; none may make an id below limit, nor one
 * that is made before the merge taken back (of equal merges the left one is made first). */
static bool stay_apart(const nas_vocab *vocab, int32_t left, int32_t right, int32_t limit)
{
    for (;;) {
        int32_t id = (int32_t)find(vocab, left, right)->id;
        if (id && id < limit)
            return false;
        if (left < FIRST_MERGE && right < FIRST_MERGE)
            return true;
        if (left > right) {
            limit = left;
            left = vocab->merge[left - FIRST_MERGE].right;
        } else {
            limit = right + 1;
            right = vocab->merge[right - FIRST_MERGE].left;
        }
    }
}

/* ---- building ---- */

/* NULL if the pair may become piece id, else why not. */
static const char *refusal(const nas_vocab *vocab, nas_merge m, int32_t id)
{
    if (m.left < 1 || m.left >= id || m.right < 1 || m.right >= id)
        return "of pieces that do not exist yet";
    if (find(vocab, m.left, m.right)->id)
        return "made twice";
    uint32_t n = vocab->start[m.left + 1] - vocab->start[m.left];
    uint32_t k = vocab->start[m.right + 1] - vocab->start[m.right];
    const char *left = vocab->bytes + vocab->start[m.left];
    const char *right = vocab->bytes + vocab->start[m.right];
    if (n + k > NAS_VOCAB_PIECE_MAX)
        return "longer than 256 bytes";
    if (!vocab->whole && (is_digit(left[0]) || is_digit(right[0])))
        return "of a digit";
    return left[n - 1] == '\n' ? "across a newline" : NULL;
}

/* Appends piece id, the bytes of left and right. */
static void append(nas_vocab *vocab, nas_merge m, int32_t id, size_t *cap)
{
    uint32_t n = vocab->start[m.left + 1] - vocab->start[m.left];
    uint32_t k = vocab->start[m.right + 1] - vocab->start[m.right];
    uint32_t at = vocab->start[id];
    vocab->bytes = nas_grow(vocab->bytes, cap, at + n + k, 1);
    memcpy(vocab->bytes + at, vocab->bytes + vocab->start[m.left], n);
    memcpy(vocab->bytes + at + n, vocab->bytes + vocab->start[m.right], k);
    vocab->start[id + 1] = at + n + k;
    *find(vocab, m.left, m.right) = (entry){(uint32_t)m.left << 16 | m.right, (uint32_t)id};
}

/* A vocabulary of the 256 bytes with room for n merges. */
static nas_vocab *bytes_only(size_t n, size_t *cap)
{
    nas_vocab *vocab = nas_zalloc(1, sizeof *vocab);
    vocab->shift = 32 - 10;
    while (n * 2 >> (32 - vocab->shift))
        vocab->shift--;
    vocab->pair = nas_zalloc((size_t)1 << (32 - vocab->shift), sizeof *vocab->pair);
    vocab->merge = nas_alloc(n * sizeof *vocab->merge);
    vocab->start = nas_zalloc(FIRST_MERGE + n + 1, sizeof *vocab->start);
    vocab->bytes = nas_grow(NULL, cap, NAS_VOCAB_BYTES, 1);
    for (int b = 0; b < NAS_VOCAB_BYTES; b++) {
        vocab->bytes[b] = (char)b;
        vocab->start[b + 2] = (uint32_t)b + 1;
    }
    vocab->pieces = NAS_VOCAB_BYTES;
    return vocab;
}

/* ---- the trie ---- */

typedef struct {
    const char *bytes;
    uint32_t size, id;
} word;

static int by_bytes(const void *a, const void *b)
{
    const word *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* The pieces that encoding can give, sorted. A piece is reached when its halves are and nothing
 * else joins across them before. */
static word *reachable(const nas_vocab *vocab, size_t *n)
{
    bool *reached = nas_zalloc((size_t)vocab->pieces + 1, sizeof *reached);
    word *list = nas_alloc((size_t)vocab->pieces * sizeof *list);
    *n = 0;
    for (int32_t id = 1; id <= vocab->pieces; id++) {
        nas_merge m = id < FIRST_MERGE ? (nas_merge){0, 0} : vocab->merge[id - FIRST_MERGE];
        reached[id] = id < FIRST_MERGE || (reached[m.left] && reached[m.right] &&
                                           stay_apart(vocab, m.left, m.right, id));
        if (reached[id])
            list[(*n)++] = (word){vocab->bytes + vocab->start[id],
                                  vocab->start[id + 1] - vocab->start[id], (uint32_t)id};
    }
    qsort(list, *n, sizeof *list, by_bytes);
    free(reached);
    return list;
}

/* The words below a node: those from low to high share its first depth bytes. */
typedef struct {
    uint32_t low, high, depth;
} range;

static void make_trie(nas_vocab *vocab)
{
    size_t n_words, n = 1, node_cap = 0, label_cap = 0, range_cap = 0;
    word *w = reachable(vocab, &n_words);
    range *r = nas_grow(NULL, &range_cap, n, sizeof *r);
    vocab->trie = nas_grow(NULL, &node_cap, n, sizeof *vocab->trie);
    vocab->label = nas_grow(NULL, &label_cap, n, 1);
    r[0] = (range){0, (uint32_t)n_words, 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t low = r[i].low, high = r[i].high, depth = r[i].depth;
        bool ends = w[low].size == depth;
        uint16_t id = ends ? (uint16_t)w[low].id : 0;
        size_t child = n;
        for (low += ends; low < high; n++) {
            uint32_t next = low + 1;
            while (next < high && w[next].bytes[depth] == w[low].bytes[depth])
                next++;
            r = nas_grow(r, &range_cap, n + 1, sizeof *r);
            vocab->trie = nas_grow(vocab->trie, &node_cap, n + 1, sizeof *vocab->trie);
            vocab->label = nas_grow(vocab->label, &label_cap, n + 1, 1);
            vocab->label[n] = w[low].bytes[depth];
            r[n] = (range){low, next, depth + 1};
            low = next;
        }
        vocab->trie[i] = (node){(uint32_t)child, (uint16_t)(n - child), id};
    }
    free(r);
    free(w);
}

/* The longest piece that text begins with, of at most size bytes. */
static int32_t longest(const nas_vocab *vocab, const char *text, size_t size)
{
    const node *at = &vocab->trie[1 + (unsigned char)text[0]];
    int32_t id = at->id;
    for (size_t i = 1; i < size && at->n; i++) {
        const char *label = vocab->label + at->child;
        const char *found = memchr(label, text[i], at->n);
        if (!found)
            break;
        at = &vocab->trie[at->child + (size_t)(found - label)];
        id = at->id ? at->id : id;
    }
    return id;
}

static void link_prefixes(nas_vocab *vocab)
{
    vocab->within = nas_zalloc((size_t)vocab->pieces + 1, sizeof *vocab->within);
    for (int32_t id = FIRST_MERGE; id <= vocab->pieces; id++) {
        size_t size;
        const char *piece = nas_vocab_piece(vocab, id, &size);
        vocab->within[id] = (uint16_t)longest(vocab, piece, size - 1);
    }
}

static nas_vocab *build(const nas_merge *merge, size_t n, bool whole, nas_err *err)
{
    if (n > NAS_VOCAB_MOST - NAS_VOCAB_BYTES) {
        nas_fail(err, NAS_FAILED, "vocabulary of %zu merges is larger than %d pieces", n,
                 NAS_VOCAB_MOST);
        return NULL;
    }
    size_t cap = 0;
    nas_vocab *vocab = bytes_only(n, &cap);
    vocab->whole = whole;
    for (size_t i = 0; i < n; i++) {
        int32_t id = FIRST_MERGE + (int32_t)i;
        const char *why = refusal(vocab, merge[i], id);
        if (why) {
            nas_fail(err, NAS_FAILED, "vocabulary merge %zu (%d, %d) is %s", i, merge[i].left,
                     merge[i].right, why);
            nas_vocab_free(vocab);
            return NULL;
        }
        append(vocab, merge[i], id, &cap);
        vocab->merge[i] = merge[i];
        vocab->pieces++;
    }
    make_trie(vocab);
    link_prefixes(vocab);
    return vocab;
}

nas_vocab *nas_vocab_new(const nas_merge *merge, size_t n, nas_err *err)
{
    return build(merge, n, false, err);
}

nas_vocab *nas_vocab_new_whole(const nas_merge *merge, size_t n, nas_err *err)
{
    return build(merge, n, true, err);
}

void nas_vocab_free(nas_vocab *vocab)
{
    if (!vocab)
        return;
    free(vocab->merge);
    free(vocab->pair);
    free(vocab->trie);
    free(vocab->label);
    free(vocab->within);
    free(vocab->start);
    free(vocab->bytes);
    free(vocab);
}

/* ---- use ---- */

int32_t nas_vocab_pieces(const nas_vocab *vocab)
{
    return vocab->pieces;
}

const nas_merge *nas_vocab_merges(const nas_vocab *vocab)
{
    return vocab->merge;
}

const char *nas_vocab_piece(const nas_vocab *vocab, int32_t id, size_t *size)
{
    assert(id >= 0 && id <= vocab->pieces);
    *size = vocab->start[id + 1] - vocab->start[id];
    return vocab->bytes + vocab->start[id];
}

size_t nas_vocab_stretch(const char *text, size_t size)
{
    size_t most = size < NAS_VOCAB_PIECE_MAX ? size : NAS_VOCAB_PIECE_MAX;
    if (is_digit(text[0]))
        return 1;
    for (size_t i = 0; i < most; i++)
        if (text[i] == '\n')
            return i + 1;
        else if (is_digit(text[i]))
            return i;
    return most;
}

size_t nas_vocab_stretch_whole(const char *text, size_t size)
{
    size_t most = size < NAS_VOCAB_PIECE_MAX ? size : NAS_VOCAB_PIECE_MAX;
    const char *end = memchr(text, '\n', most);
    return end ? (size_t)(end - text) + 1 : most;
}

/* Ids of one stretch: those that merging the earliest learned pair first, again and again, ends
 * with. They are the only way to cut the stretch into pieces of which all neighbours stay apart, so
 * a search finds them: longest piece first, and back where no piece fits. Places that were left
 * that way are dead ends and not entered again. */
static size_t encode_stretch(const nas_vocab *vocab, const char *text, size_t size, int32_t *id)
{
    bool dead[NAS_VOCAB_PIECE_MAX + 1];
    memset(dead, 0, size + 1);
    int32_t next = longest(vocab, text, size);
    size_t n = 0, at = 0;
    while (at < size) {
        size_t end = at + vocab->start[next + 1] - vocab->start[next];
        if (!dead[end] && (n == 0 || stay_apart(vocab, id[n - 1], next, NONE))) {
            id[n++] = next;
            at = end;
            next = at < size ? longest(vocab, text + at, size - at) : 0;
        } else if (vocab->within[next]) {
            next = vocab->within[next];
        } else {
            assert(n > 0);
            dead[at] = true;
            next = id[--n];
            at -= vocab->start[next + 1] - vocab->start[next];
        }
    }
    return n;
}

size_t nas_vocab_encode(const nas_vocab *vocab, const char *text, size_t size, int32_t *id)
{
    size_t n = 0;
    while (size > 0) {
        size_t stretch = (vocab->whole ? nas_vocab_stretch_whole : nas_vocab_stretch)(text, size);
        n += encode_stretch(vocab, text, stretch, id + n);
        text += stretch;
        size -= stretch;
    }
    return n;
}

bool nas_vocab_decode(const nas_vocab *vocab, const int32_t *id, size_t n, nas_bytes *out)
{
    for (size_t i = 0; i < n; i++) {
        if (id[i] < 0 || id[i] > vocab->pieces)
            return false;
        size_t size;
        const char *piece = nas_vocab_piece(vocab, id[i], &size);
        nas_bytes_put(out, piece, size);
    }
    return true;
}

/* ---- files ---- */

static const char format_name[] = "naslm-vocab";

/* merges: left and right ids in turn. "whole":true stands there for vocabularies that are. */
void nas_vocab_print(const nas_vocab *vocab, nas_bytes *out)
{
    nas_bytes_print(out, "{\"format\":\"%s\",\"version\":1,%s\"merges\":[", format_name,
                    vocab->whole ? "\"whole\":true," : "");
    for (int32_t i = 0; i < vocab->pieces - NAS_VOCAB_BYTES; i++)
        nas_bytes_print(out, "%s%d,%d", i ? "," : "", vocab->merge[i].left, vocab->merge[i].right);
    nas_bytes_puts(out, "]}");
}

/* Copies the merges of list, or says what is wrong with them. */
static nas_vocab *from_list(const json_t *list, bool whole, nas_err *err)
{
    size_t n = json_array_size(list);
    nas_vocab *vocab = NULL;
    nas_merge *merge = nas_alloc((n / 2) * sizeof *merge);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t id = json_is_integer(item) ? json_integer_value(item) : -1;
        if (id < 1 || id > NAS_VOCAB_MOST || n % 2) {
            nas_fail(err, NAS_FAILED, "vocabulary merges are not pairs of ids");
            goto exit;
        }
        *(i % 2 ? &merge[i / 2].right : &merge[i / 2].left) = (uint16_t)id;
    }
    vocab = build(merge, n / 2, whole, err);
exit:
    free(merge);
    return vocab;
}

nas_vocab *nas_vocab_parse(const char *text, size_t size, nas_err *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    const char *format = json_string_value(json_object_get(root, "format"));
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    const json_t *list = json_object_get(root, "merges");
    bool whole = json_is_true(json_object_get(root, "whole"));
    nas_vocab *vocab = NULL;
    if (!root)
        nas_fail(err, NAS_FAILED, "vocabulary is not JSON: %s at byte %d", why.text, why.position);
    else if (!format || strcmp(format, format_name))
        nas_fail(err, NAS_FAILED, "this is no vocabulary: its format is not '%s'", format_name);
    else if (version != 1)
        nas_fail(err, NAS_FAILED, "vocabulary version %lld is unknown; this program reads 1",
                 (long long)version);
    else if (!json_is_array(list) || json_object_size(root) != 3u + whole)
        nas_fail(err, NAS_FAILED, "vocabulary does not hold format, version and merges alone");
    else
        vocab = from_list(list, whole, err);
    json_decref(root);
    return vocab;
}

nas_vocab *nas_vocab_load(const char *path, nas_err *err)
{
    enum { MOST = 4 << 20 }; /* far beyond 65,279 printed merges */
    FILE *f = fopen(path, "rb");
    if (!f) {
        nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    char *text = nas_alloc(MOST + 1);
    size_t size = fread(text, 1, MOST + 1, f);
    nas_vocab *vocab = NULL;
    if (ferror(f) || size > MOST)
        nas_fail(err, NAS_FAILED, "vocabulary '%s' is %s", path,
                 ferror(f) ? "unreadable" : "larger than 4 MiB");
    else if (!(vocab = nas_vocab_parse(text, size, err)))
        nas_fail_in(err, "%s", path);
    free(text);
    fclose(f);
    return vocab;
}

nas_status nas_vocab_save(const nas_vocab *vocab, const char *path, nas_err *err)
{
    nas_bytes text = {0};
    nas_vocab_print(vocab, &text);
    nas_bytes_putc(&text, '\n');
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(text.data, 1, text.size, f) == text.size;
    int why = errno;
    if (f && fclose(f)) {
        why = errno;
        good = false;
    }
    nas_bytes_clear(&text);
    return good ? NAS_OK : nas_fail(err, NAS_FAILED, "cannot write '%s': %s", path, strerror(why));
}
