/* How does text become ids and back? Byte-level pair merging (BPE), learned on our own exports.
 *
 *     nas_vocab *v = nas_vocab_train(texts, sizes, n, 8192, &err);
 *     size_t n = nas_vocab_encode(v, text, size, id);   // id has room for size ids
 *     nas_vocab_decode(v, id, n, &bytes);               // bytes holds the text again
 *     nas_vocab_save(v, "exports.vocab", &err);  nas_vocab_free(v);
 *
 * Lossless on any bytes. Id 0 is the pad; byte b is id b + 1; merges follow in the order learned. A
 * piece holds a newline only at its end: it stays within a statement and may span blanks. It never
 * holds a digit beside something else, unless the vocabulary is one of whole statements: texts are
 * then a third as long, numbers that were not seen cost more. Method: Sennrich et al. 2016
 * (arXiv:1508.07909), on bytes. */
#ifndef NAS_SURROGATE_VOCAB_H
#define NAS_SURROGATE_VOCAB_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NAS_VOCAB_BYTES = 256,     /* the fewest pieces */
    NAS_VOCAB_PIECES = 8192,   /* the usual number */
    NAS_VOCAB_MOST = 65535,    /* the most pieces */
    NAS_VOCAB_PIECE_MAX = 256, /* bytes of the longest piece */
    NAS_VOCAB_PAD = 0,
};

/* Two ids that become one. Merge i makes id 257 + i. */
typedef struct {
    uint16_t left, right;
} nas_merge;

typedef struct nas_vocab nas_vocab;

/* NULL for a merge of unknown ids, one made twice, or one that breaks the rules of pieces. */
nas_vocab *nas_vocab_new(const nas_merge *merge, size_t n, nas_err *err);
nas_vocab *nas_vocab_new_whole(const nas_merge *merge, size_t n, nas_err *err);
void nas_vocab_free(nas_vocab *vocab);

/* ---- learning ---- */

/* Collects texts; equal stretches of text are kept once, so memory grows with what is new. */
typedef struct nas_vocab_trainer nas_vocab_trainer;

nas_vocab_trainer *nas_vocab_trainer_new(void);
nas_vocab_trainer *nas_vocab_trainer_new_whole(void); /* learns whole statements, digits too */
void nas_vocab_trainer_free(nas_vocab_trainer *trainer);
void nas_vocab_trainer_add(nas_vocab_trainer *trainer, const char *text, size_t size);
/* Learns up to pieces pieces, fewer when no pair occurs twice; NAS_USAGE outside 256..65535. The
 * result depends on the multiset of texts only. More texts may be added for another call. */
nas_vocab *nas_vocab_trainer_learn(const nas_vocab_trainer *trainer, int pieces, nas_err *err);

/* All of the above for n texts. */
nas_vocab *nas_vocab_train(const char *const *texts, const size_t *sizes, size_t n, int pieces,
                           nas_err *err);

/* ---- use; safe from several threads ---- */

int32_t nas_vocab_pieces(const nas_vocab *vocab);          /* ids are 0 (pad) and 1..pieces */
const nas_merge *nas_vocab_merges(const nas_vocab *vocab); /* (pieces - 256) */
const char *nas_vocab_piece(const nas_vocab *vocab, int32_t id, size_t *size);

/* Writes the ids of text, at most one a byte; returns how many. */
size_t nas_vocab_encode(const nas_vocab *vocab, const char *text, size_t size, int32_t *id);
/* Appends the text of n ids; pads add nothing. False when an id is unknown. */
bool nas_vocab_decode(const nas_vocab *vocab, const int32_t *id, size_t n, nas_bytes *out);

/* The bytes of the first stretch of text (size > 0) that a piece may not leave: up to and with the
 * next newline, 256 bytes at most; unless whole, also one digit, or up to the next. */
size_t nas_vocab_stretch(const char *text, size_t size);
size_t nas_vocab_stretch_whole(const char *text, size_t size);

/* ---- files: one JSON object on one line, ASCII, fit for a metadata string ---- */

void nas_vocab_print(const nas_vocab *vocab, nas_bytes *out);
nas_vocab *nas_vocab_parse(const char *text, size_t size, nas_err *err);
nas_vocab *nas_vocab_load(const char *path, nas_err *err);
nas_status nas_vocab_save(const nas_vocab *vocab, const char *path, nas_err *err);

#endif
