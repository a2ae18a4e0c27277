/* How do tests read the shared benchmark tables and the networks of their rows?
 *
 *     check_csv t;
 *     check_csv_open(&t, "nb101.csv.gz");          skips the test when there is no such folder
 *     while (check_csv_next(&t)) use(t.field[0]);
 *     check_csv_close(&t);
 */
#ifndef NAS_TESTS_CSV_H
#define NAS_TESTS_CSV_H

#include "hw/cost.h"
#include "spaces/space.h"

#include "tests/check.h"

#include <zlib.h>

enum { CHECK_CSV_FIELDS = 64 };

typedef struct {
    gzFile file;
    int n; /* fields of the row */
    char line[8192];
    char *field[CHECK_CSV_FIELDS];
} check_csv;

void check_csv_open(check_csv *csv, const char *name); /* the header is read */
bool check_csv_next(check_csv *csv);
void check_csv_close(check_csv *csv);

/* The architecture of a string, or the test fails with the sentence. */
nas_arch check_arch(const nas_space *space, const char *text);
/* The cost of its network for a task (NULL: the default). */
nas_cost check_cost(const nas_space *space, const nas_arch *arch, const char *task);

#endif
