/* What is best so far? All non-dominated feasible architectures that were evaluated, each kept
 * once, however small the population is.
 *
 *     nas_archive a = {.m = 2};
 *     nas_archive_add(&a, id, f);          f: (m) objectives, less is better
 *     for (size_t i = 0; i < a.n; i++) use(a.id[i], a.f + i * a.m);
 *     nas_archive_clear(&a);
 *
 * Equal points do not dominate each other: all of them stay. Entries are in ascending order of id.
 */
#ifndef NAS_ARCHIVE_H
#define NAS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t m;
    int64_t *id; /* [n] */
    double *f;   /* (n, m) */
    size_t n, id_cap, f_cap;
} nas_archive;

/* Whether the point joined; points that it dominates left. */
bool nas_archive_add(nas_archive *archive, int64_t id, const double *f);
void nas_archive_clear(nas_archive *archive);

#endif
