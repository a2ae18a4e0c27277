/* Scores made elsewhere, read from CSV for the bench of predictors. */
#include "search/bench_predictors.h"

#include "results/csv.h"

#include <math.h>
#include <stdlib.h>

static int64_t optional_column(const nas_csv *csv, const char *name)
{
    for (size_t c = 0; c < csv->columns; c++)
        if (!strcmp(csv->name[c], name))
            return (int64_t)c;
    return -1;
}

static nas_status read_whole(const nas_csv *csv, int64_t column, int64_t *value, nas_err *err)
{
    double real = -1;
    *value = -1;
    if (column >= 0 && nas_csv_real(csv, (size_t)column, &real, err) != NAS_OK)
        return err->code;
    if (!isnan(real))
        *value = (int64_t)real;
    return NAS_OK;
}

static void add_foreign(nas_foreign *f, const nas_arch *same, int64_t n, int64_t draw, double score)
{
    f->row = nas_grow(f->row, &f->cap, f->n + 1, sizeof *f->row);
    f->row[f->n++] =
        (struct nas_foreign_row){(uint32_t)nas_arch_set_add(&f->arch, same, NULL), n, draw, score};
}

static nas_status read_foreign_row(const nas_csv *csv, const nas_space *space, size_t arch,
                                   const size_t *column, nas_foreign *list, size_t n, nas_err *err)
{
    nas_arch a, same;
    int64_t rows, draw;
    double score;
    nas_err own = {0};
    if (nas_space_parse(space, csv->field[arch], &a, &own) != NAS_OK)
        return nas_csv_fail(csv, arch, err, "%s", own.text);
    nas_space_canonical(space, &a, &same);
    if (read_whole(csv, optional_column(csv, "n"), &rows, err) != NAS_OK ||
        read_whole(csv, optional_column(csv, "draw"), &draw, err) != NAS_OK)
        return err->code;
    for (size_t k = 0; k < n; k++) {
        if (nas_csv_real(csv, column[k], &score, err) != NAS_OK)
            return err->code;
        if (!isnan(score))
            add_foreign(&list[k], &same, rows, draw, score);
    }
    return NAS_OK;
}

nas_status nas_foreign_read(const char *path, const nas_space *space, nas_foreign **list,
                            char (**name)[64], size_t *n, nas_err *err)
{
    nas_csv *csv = nas_csv_open(path, err);
    size_t arch, *column = NULL;
    *list = NULL;
    *name = NULL;
    *n = 0;
    if (!csv || nas_csv_need(csv, "arch", &arch, err) != NAS_OK)
        goto out;
    *list = nas_zalloc(csv->columns, sizeof **list);
    *name = nas_zalloc(csv->columns, sizeof **name);
    column = nas_alloc(csv->columns * sizeof *column);
    for (size_t c = 0; c < csv->columns; c++) {
        const char *text = csv->name[c];
        if (c == arch || !strcmp(text, "n") || !strcmp(text, "draw"))
            continue;
        memcpy((*name)[*n], text, strnlen(text, sizeof **name - 1));
        column[(*n)++] = c;
    }
    int more;
    while ((more = nas_csv_next(csv, err)) > 0)
        if (read_foreign_row(csv, space, arch, column, *list, *n, err) != NAS_OK)
            break;
out:
    free(column);
    nas_csv_close(csv);
    return err->code;
}

void nas_foreign_free(nas_foreign *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        nas_arch_set_clear(&list[i].arch);
        free(list[i].row);
    }
    free(list);
}
