#include "surrogate/vocab.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing, at most half full; keys and values are not 0. */
typedef struct {
    uint32_t key, value;
} entry;

typedef struct {
    entry *e; /* (1 << 32 - shift) */
    int shift;
    uint32_t n;
} table;

/* A piece is found in text by walking a trie: node b is the piece of byte b - 1, the others follow.
 * A piece that encoding never gives, because its bytes always become others, is not in it. */
struct nas_vocab {
    int32_t pieces;
    nas_merge *merge; /* (pieces - 256) */
    uint32_t *start;  /* (pieces + 2): where the bytes of an id begin; the pad has none */
    char *bytes;
    table pair;       /* left << 16 | right -> id */
    table step;       /* node << 8 | byte -> node */
    uint16_t *ends;   /* (nodes) the id that ends at a node, or 0 */
    uint16_t *within; /* (pieces + 1) the longest piece that this one begins with, or 0 */
    uint32_t nodes;
};

enum { NONE = INT32_MAX, FIRST_MERGE = 1 + NAS_VOCAB_BYTES };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- tables ---- */

static void table_init(table *t, int shift)
{
    *t = (table){nas_zalloc((size_t)1 << (32 - shift), sizeof *t->e), shift, 0};
}

/* The entry of a key, or the empty one where it belongs. */
static inline entry *find(const table *t, uint32_t key)
{
    uint32_t at = (key * 0x9E3779B1u) >> t->shift;
    while (t->e[at].key && t->e[at].key != key)
        at = (at + 1) & (UINT32_MAX >> t->shift);
    return &t->e[at];
}

/* The value of a key, or 0. */
static inline uint32_t get(const table *t, uint32_t key)
{
    return find(t, key)->value;
}

static void put(table *t, uint32_t key, uint32_t value)
{
    if (++t->n * 2 > 1u << (32 - t->shift)) {
        table old = *t;
        table_init(t, old.shift - 1);
        t->n = old.n;
        for (size_t i = 0; i < (size_t)1 << (32 - old.shift); i++)
            if (old.e[i].key)
                *find(t, old.e[i].key) = old.e[i];
        free(old.e);
    }
    *find(t, key) = (entry){key, value};
}

static inline uint32_t pair_key(int32_t left, int32_t right)
{
    return (uint32_t)left << 16 | (uint32_t)right;
}

/* Does text of these two pieces stay these two? Taking the merges inside them back, the latest
 * first, shows every pair that ever met at the border; none may make an id below limit, nor one
 * that is made before the merge taken back (of equal merges the left one is made first). */
static bool stay_apart(const nas_vocab *vocab, int32_t left, int32_t right, int32_t limit)
{
    for (;;) {
        int32_t id = (int32_t)get(&vocab->pair, pair_key(left, right));
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
    if (get(&vocab->pair, pair_key(m.left, m.right)))
        return "made twice";
    uint32_t n = vocab->start[m.left + 1] - vocab->start[m.left];
    uint32_t k = vocab->start[m.right + 1] - vocab->start[m.right];
    const char *left = vocab->bytes + vocab->start[m.left];
    const char *right = vocab->bytes + vocab->start[m.right];
    if (n + k > NAS_VOCAB_PIECE_MAX)
        return "longer than 256 bytes";
    if (is_digit(left[0]) || is_digit(right[0]))
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
    put(&vocab->pair, pair_key(m.left, m.right), (uint32_t)id);
}

/* A vocabulary of the 256 bytes with room for n merges. */
static nas_vocab *bytes_only(size_t n, size_t *cap)
{
    nas_vocab *vocab = nas_zalloc(1, sizeof *vocab);
    table_init(&vocab->pair, 32 - 10);
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

/* Adds the path of piece id to the trie. */
static void grow_trie(nas_vocab *vocab, int32_t id)
{
    size_t n;
    const char *piece = nas_vocab_piece(vocab, id, &n);
    uint32_t node = (uint32_t)(unsigned char)piece[0] + 1;
    for (size_t i = 1; i < n; i++) {
        uint32_t key = node << 8 | (unsigned char)piece[i];
        if (!get(&vocab->step, key))
            put(&vocab->step, key, vocab->nodes++);
        node = get(&vocab->step, key);
    }
    vocab->ends[node] = (uint16_t)id;
}

/* The longest piece that text begins with, of at most size bytes. */
static int32_t longest(const nas_vocab *vocab, const char *text, size_t size)
{
    uint32_t node = (uint32_t)(unsigned char)text[0] + 1;
    int32_t id = (int32_t)node;
    for (size_t i = 1; i < size; i++) {
        node = get(&vocab->step, node << 8 | (unsigned char)text[i]);
        if (!node)
            break;
        id = vocab->ends[node] ? vocab->ends[node] : id;
    }
    return id;
}

/* A piece is reached when its halves are and nothing else joins across them before. */
static void make_trie(nas_vocab *vocab)
{
    size_t n = (size_t)vocab->pieces + 1, bytes = vocab->start[n];
    bool *reached = nas_zalloc(n, sizeof *reached);
    table_init(&vocab->step, 32 - 10);
    vocab->ends = nas_zalloc(bytes + 1, sizeof *vocab->ends);
    vocab->within = nas_zalloc(n, sizeof *vocab->within);
    vocab->nodes = FIRST_MERGE;
    for (int32_t id = 1; id <= vocab->pieces; id++) {
        nas_merge m = id < FIRST_MERGE ? (nas_merge){0, 0} : vocab->merge[id - FIRST_MERGE];
        reached[id] = id < FIRST_MERGE || (reached[m.left] && reached[m.right] &&
                                           stay_apart(vocab, m.left, m.right, id));
        if (reached[id])
            grow_trie(vocab, id);
    }
    for (int32_t id = FIRST_MERGE; id <= vocab->pieces; id++) {
        size_t size;
        const char *piece = nas_vocab_piece(vocab, id, &size);
        vocab->within[id] = (uint16_t)longest(vocab, piece, size - 1);
    }
    free(reached);
}

nas_vocab *nas_vocab_new(const nas_merge *merge, size_t n, nas_err *err)
{
    if (n > NAS_VOCAB_MOST - NAS_VOCAB_BYTES) {
        nas_fail(err, NAS_FAILED, "vocabulary of %zu merges is larger than %d pieces", n,
                 NAS_VOCAB_MOST);
        return NULL;
    }
    size_t cap = 0;
    nas_vocab *vocab = bytes_only(n, &cap);
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
    return vocab;
}

void nas_vocab_free(nas_vocab *vocab)
{
    if (!vocab)
        return;
    free(vocab->merge);
    free(vocab->pair.e);
    free(vocab->step.e);
    free(vocab->ends);
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
        size_t stretch = nas_vocab_stretch(text, size);
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

/* merges: left and right ids in turn. */
void nas_vocab_print(const nas_vocab *vocab, nas_bytes *out)
{
    nas_bytes_print(out, "{\"format\":\"%s\",\"version\":1,\"merges\":[", format_name);
    for (int32_t i = 0; i < vocab->pieces - NAS_VOCAB_BYTES; i++)
        nas_bytes_print(out, "%s%d,%d", i ? "," : "", vocab->merge[i].left, vocab->merge[i].right);
    nas_bytes_puts(out, "]}");
}

/* Copies the merges of list, or says what is wrong with them. */
static nas_vocab *from_list(const json_t *list, nas_err *err)
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
    vocab = nas_vocab_new(merge, n / 2, err);
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
    nas_vocab *vocab = NULL;
    if (!root)
        nas_fail(err, NAS_FAILED, "vocabulary is not JSON: %s at byte %d", why.text, why.position);
    else if (!format || strcmp(format, format_name))
        nas_fail(err, NAS_FAILED, "this is no vocabulary: its format is not '%s'", format_name);
    else if (version != 1)
        nas_fail(err, NAS_FAILED, "vocabulary version %lld is unknown; this program reads 1",
                 (long long)version);
    else if (!json_is_array(list) || json_object_size(root) != 3)
        nas_fail(err, NAS_FAILED, "vocabulary does not hold format, version and merges alone");
    else
        vocab = from_list(list, err);
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
