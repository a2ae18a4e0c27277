/* Where does memory come from? Checked allocation, an arena, and a growing byte buffer.
 *
 *     nas_arena *a = nas_arena_new();            nas_bytes b = {0};
 *     int *v = nas_arena_get(a, 8 * sizeof *v);  nas_bytes_print(&b, "%d", 7);
 *     nas_arena_free(a);                         nas_bytes_clear(&b);
 *
 * Out of memory ends the program through one hook with one line; callers never see NULL. */
#ifndef NAS_BASE_MEM_H
#define NAS_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Called with the number of bytes that could not be had; must not return. The default writes one
 * line to stderr and aborts. */
extern void (*nas_out_of_memory)(size_t bytes);

void *nas_alloc(size_t bytes);                /* not cleared; 0 bytes give a unique pointer */
void *nas_zalloc(size_t count, size_t bytes); /* cleared */
void *nas_alloc_lines(size_t bytes);          /* from the start of a cache line, for wide vectors */
void *nas_zalloc_lines(size_t bytes);         /* the same, cleared */
void *nas_realloc(void *old, size_t bytes);
char *nas_strdup(const char *text);

/* Makes room for at least need items of bytes each in *array; *cap is the room so far. */
void *nas_grow(void *array, size_t *cap, size_t need, size_t bytes);

/* A pool whose pieces are freed together. Pieces are aligned to 16 bytes and not cleared. */
typedef struct nas_arena nas_arena;

nas_arena *nas_arena_new(void);
void nas_arena_free(nas_arena *arena);
void *nas_arena_get(nas_arena *arena, size_t bytes);
void *nas_arena_copy(nas_arena *arena, const void *from, size_t bytes);
__attribute__((format(printf, 2, 3))) const char *nas_arena_print(nas_arena *arena,
                                                                  const char *format, ...);
void nas_arena_reset(nas_arena *arena); /* forgets all pieces, keeps the memory for reuse */
size_t nas_arena_used(const nas_arena *arena);

/* A growing buffer; {0} is an empty one. data is always NUL-terminated once something was put. */
typedef struct {
    char *data;
    size_t size, cap;
} nas_bytes;

void nas_bytes_clear(nas_bytes *bytes);                /* frees and returns to {0} */
void nas_bytes_reset(nas_bytes *bytes);                /* size 0, memory kept */
void nas_bytes_reserve(nas_bytes *bytes, size_t size); /* makes room for size more bytes */
void nas_bytes_puti(nas_bytes *bytes, int64_t value);
__attribute__((format(printf, 2, 3))) void nas_bytes_print(nas_bytes *bytes, const char *format,
                                                           ...);
const char *nas_bytes_text(const nas_bytes *bytes); /* "" for an empty buffer */

static inline void nas_bytes_put(nas_bytes *bytes, const void *from, size_t size)
{
    if (bytes->cap - bytes->size <= size)
        nas_bytes_reserve(bytes, size);
    if (size)
        memcpy(bytes->data + bytes->size, from, size);
    bytes->size += size;
    bytes->data[bytes->size] = '\0';
}

static inline void nas_bytes_putc(nas_bytes *bytes, char c)
{
    nas_bytes_put(bytes, &c, 1);
}

static inline void nas_bytes_puts(nas_bytes *bytes, const char *text)
{
    nas_bytes_put(bytes, text, strlen(text));
}

#endif
