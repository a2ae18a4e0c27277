#include "spaces/base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void abort_out_of_memory(size_t bytes)
{
    fprintf(stderr, "naslm: error: out of memory (%zu bytes asked)\n", bytes);
    abort();
}

void (*nas_out_of_memory)(size_t bytes) = abort_out_of_memory;

void *nas_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        nas_out_of_memory(bytes);
    return p;
}

void *nas_alloc_lines(size_t bytes)
{
    enum { LINE = 64 };
    void *p = NULL;
    if (posix_memalign(&p, LINE, bytes ? bytes : 1) != 0)
        nas_out_of_memory(bytes);
    return p;
}

void *nas_zalloc_lines(size_t bytes)
{
    return memset(nas_alloc_lines(bytes), 0, bytes);
}

void *nas_zalloc(size_t count, size_t bytes)
{
    void *p = calloc(count ? count : 1, bytes ? bytes : 1);
    if (!p)
        nas_out_of_memory(count * bytes);
    return p;
}

void *nas_realloc(void *old, size_t bytes)
{
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        nas_out_of_memory(bytes);
    return p;
}

char *nas_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(nas_alloc(size), text, size);
}

void *nas_grow(void *array, size_t *cap, size_t need, size_t bytes)
{
    if (need <= *cap)
        return array;
    size_t room = *cap ? *cap : 8;
    while (room < need)
        room *= 2;
    if (room > SIZE_MAX / bytes)
        nas_out_of_memory(SIZE_MAX);
    *cap = room;
    return nas_realloc(array, room * bytes);
}

/* ---- arena: a list of chunks, each twice the size of the one before ---- */

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    _Alignas(16) char data[];
} chunk;

struct nas_arena {
    chunk *first, *now; /* chunks after now are empty */
};

enum { ALIGN = 16, FIRST_CHUNK = 8192, LAST_CHUNK = 1 << 20 };

nas_arena *nas_arena_new(void)
{
    return nas_zalloc(1, sizeof(nas_arena));
}

void nas_arena_free(nas_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

static chunk *add_chunk(nas_arena *arena, size_t bytes)
{
    size_t size = arena->now ? arena->now->size * 2 : FIRST_CHUNK;
    if (size > LAST_CHUNK)
        size = LAST_CHUNK;
    if (size < bytes)
        size = bytes;
    if (size > SIZE_MAX - sizeof(chunk))
        nas_out_of_memory(size);
    chunk *c = nas_alloc(sizeof(chunk) + size);
    c->size = size;
    c->used = 0;
    c->next = arena->now ? arena->now->next : NULL;
    if (arena->now)
        arena->now->next = c;
    else
        arena->first = c;
    return c;
}

void *nas_arena_get(nas_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN)
        nas_out_of_memory(bytes);
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    chunk *c = arena->now;
    while (c && c->size - c->used < bytes && c->next)
        c = arena->now = c->next;
    if (!c || c->size - c->used < bytes)
        c = arena->now = add_chunk(arena, bytes);
    void *p = c->data + c->used;
    c->used += bytes;
    return p;
}

void *nas_arena_copy(nas_arena *arena, const void *from, size_t bytes)
{
    void *p = nas_arena_get(arena, bytes);
    return bytes ? memcpy(p, from, bytes) : p;
}

const char *nas_arena_print(nas_arena *arena, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(n >= 0);
    if ((size_t)n < sizeof text)
        return nas_arena_copy(arena, text, (size_t)n + 1);
    char *p = nas_arena_get(arena, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(p, (size_t)n + 1, format, args);
    va_end(args);
    return p;
}

void nas_arena_reset(nas_arena *arena)
{
    for (chunk *c = arena->first; c; c = c->next)
        c->used = 0;
    arena->now = arena->first;
}

size_t nas_arena_used(const nas_arena *arena)
{
    size_t used = 0;
    for (const chunk *c = arena->first; c; c = c->next)
        used += c->used;
    return used;
}

/* ---- byte buffer ---- */

void nas_bytes_clear(nas_bytes *bytes)
{
    free(bytes->data);
    *bytes = (nas_bytes){0};
}

void nas_bytes_reset(nas_bytes *bytes)
{
    bytes->size = 0;
    if (bytes->data)
        bytes->data[0] = '\0';
}

void nas_bytes_reserve(nas_bytes *bytes, size_t size)
{
    if (size > SIZE_MAX / 4 || bytes->size > SIZE_MAX / 4)
        nas_out_of_memory(size);
    bytes->data = nas_grow(bytes->data, &bytes->cap, bytes->size + size + 1, 1);
}

void nas_bytes_puti(nas_bytes *bytes, int64_t value)
{
    char digits[24];
    char *p = digits + sizeof digits;
    uint64_t u = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (value < 0)
        *--p = '-';
    nas_bytes_put(bytes, p, (size_t)(digits + sizeof digits - p));
}

void nas_bytes_print(nas_bytes *bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0);
    nas_bytes_reserve(bytes, (size_t)n);
    va_start(args, format);
    vsnprintf(bytes->data + bytes->size, (size_t)n + 1, format, args);
    va_end(args);
    bytes->size += (size_t)n;
}

const char *nas_bytes_text(const nas_bytes *bytes)
{
    return bytes->data ? bytes->data : "";
}
