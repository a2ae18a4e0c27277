#include "search/archive.h"

#include "results/front.h"
#include "spaces/base/mem.h"

#include <stdlib.h>
#include <string.h>

bool nas_archive_add(nas_archive *a, int64_t id, const double *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n; i++)
        if (nas_front_dominates(a->f + i * a->m, f, a->m))
            return false; /* then f dominates none: nothing has moved */
    for (size_t i = 0; i < a->n; i++) {
        if (nas_front_dominates(f, a->f + i * a->m, a->m))
            continue;
        a->id[kept] = a->id[i];
        memmove(a->f + kept++ * a->m, a->f + i * a->m, a->m * sizeof *f);
    }
    a->n = kept + 1;
    a->id = nas_grow(a->id, &a->id_cap, a->n, sizeof *a->id);
    a->f = nas_grow(a->f, &a->f_cap, a->n * a->m, sizeof *a->f);
    a->id[kept] = id;
    memcpy(a->f + kept * a->m, f, a->m * sizeof *f);
    return true;
}

void nas_archive_clear(nas_archive *a)
{
    free(a->id);
    free(a->f);
    *a = (nas_archive){.m = a->m};
}
