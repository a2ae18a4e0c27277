/* results/table: import and look-up are inverse, any spelling is found, faults are named. */
#include "results/h5.h"
#include "results/table.h"
#include "results/table_file.h"

#include "tests/check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/nas-table-XXXXXX";
static char csv_path[64], out_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(csv_path, sizeof csv_path, "%s/t.csv", folder);
    snprintf(out_path, sizeof out_path, "%s/t.h5", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(csv_path);
    unlink(out_path);
    return rmdir(folder);
}

static void put(const char *path, const void *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static nas_status import_text(const char *text, const char *arch, const char *const *metric,
                              size_t n, nas_err *err)
{
    put(csv_path, text, strlen(text));
    nas_table_source from = {nas_space_find("nb201"), arch, metric, n};
    return nas_table_import(csv_path, &from, out_path, true, &nas_disk_real, err);
}

#define NB201(a, b, c, d, e, f) "|" a "~0|+|" b "~0|" c "~1|+|" d "~0|" e "~1|" f "~2|"
#define ALL_SKIP                                                                                   \
    NB201("skip_connect", "skip_connect", "skip_connect", "skip_connect", "skip_connect",          \
          "skip_connect")
#define ONE_CONV                                                                                   \
    NB201("nor_conv_3x3", "skip_connect", "skip_connect", "skip_connect", "skip_connect",          \
          "skip_connect")

static nas_arch parse_of(const char *space, const char *text)
{
    nas_arch arch;
    assert_int_equal(nas_space_parse(nas_space_find(space), text, &arch, NULL), NAS_OK);
    return arch;
}

static nas_arch parse(const char *text)
{
    return parse_of("nb201", text);
}

static void test_small(void **state)
{
    (void)state;
    static const char *const metric[] = {"accuracy=acc,%,max,x100", "latency:raspi4=lat",
                                         "odd=lat,furlong,min,x-2", "left=acc,,,x-1e+2+100"};
    nas_err err = {0};
    assert_int_equal(import_text("i,arch,acc,lat\n0," ALL_SKIP ",0.5,\n"
                                 "1, |nor_conv_3x3~0| + |skip_connect~0|skip_connect~1|+"
                                 "|skip_connect~0|skip_connect~1|skip_connect~2| ,0.25,10\n"
                                 "2," ONE_CONV ",,20\n",
                                 "arch", metric, 4, &err),
                     NAS_OK);
    nas_table *t = nas_table_open(out_path, &err);
    assert_non_null(t);
    assert_string_equal(t->space->name, "nb201");
    assert_int_equal(t->n, 3);
    assert_int_equal(t->n_unique, 2);
    assert_int_equal(t->n_metric, 4);
    assert_string_equal(t->metric[1].column, "latency_raspi4");
    assert_string_equal(t->metric[1].unit, "ms");
    assert_string_equal(t->metric[2].unit, "furlong");
    assert_int_equal(t->metric[0].direction, NAS_MAX);
    double values[4];
    nas_arch arch = parse(ALL_SKIP);
    assert_true(nas_table_find(t, &arch, values));
    assert_true(values[0] == 50 && isnan(values[1]) && isnan(values[2]));
    arch = parse(ONE_CONV); /* measured twice, once without accuracy */
    assert_true(nas_table_find(t, &arch, values));
    assert_true(values[0] == 25 && values[1] == 15 && values[2] == -30 && values[3] == 75);
    arch.gene[0] = !arch.gene[0];
    assert_false(nas_table_find(t, &arch, values));
    nas_bytes text = {0};
    assert_string_equal(nas_table_arch(t, 1, &text), ONE_CONV);
    assert_true(nas_table_value(t, 2, 1) == 20);
    nas_bytes_clear(&text);
    nas_table_close(t);
}

/* Relabelings of an nb101 cell are one architecture, whose hash the table keeps. */
static void test_relabelings(void **state)
{
    (void)state;
    static const char *const metric[] = {"accuracy=acc"};
    static const char csv[] = "arch,acc\n110011/01,1\n110011/10,3\n101/2,5\n";
    const nas_space *nb101 = nas_space_find("nb101");
    const nas_table_source from = {nb101, "arch", metric, 1};
    nas_err err = {0};
    put(csv_path, csv, strlen(csv));
    assert_int_equal(nas_table_import(csv_path, &from, out_path, true, &nas_disk_real, &err), 0);
    nas_table *t = nas_table_open(out_path, &err);
    assert_non_null(t);
    assert_int_equal(t->n_unique, 2);
    nas_arch arch = parse_of("nb101", "110011/10");
    double value;
    assert_true(nas_table_find(t, &arch, &value));
    assert_true(value == 2);
    assert_int_equal(nas_table_first(t, &arch), 0);
    for (size_t row = 0; row < 3; row++) {
        char own[33], stored[33];
        assert_true(nas_table_row(t, row, &arch));
        assert_true(nas_table_hash(t, row, stored));
        nas_space_hash(nb101, &arch, own);
        assert_string_equal(stored, own);
    }
    arch = parse_of("nb101", "110011/11");
    assert_int_equal(nas_table_first(t, &arch), -1);
    assert_false(nas_table_find(t, &arch, &value));
    nas_table_close(t);
}

/* A table of another writer: the row whose string names nothing is not found, the others are. */
static void test_broken_row(void **state)
{
    (void)state;
    static const char *const arch[] = {ALL_SKIP, "|junk|", ONE_CONV};
    nas_metric metric;
    nas_err err = {0};
    assert_int_equal(nas_metric_make(&metric, "accuracy", &err), NAS_OK);
    nas_h5_field field[NAS_TABLE_FIELDS + 1], of_metric[NAS_H5_METRIC_FIELDS];
    size_t size, n_of_metric = 0, metric_size = nas_h5_metric_fields(of_metric, &n_of_metric);
    size_t n = nas_table_fields(field, strlen(ONE_CONV), false, &metric, 1, &size);
    char *rows = nas_zalloc(3, size), *metrics = nas_zalloc(1, metric_size);
    for (size_t i = 0; i < 3; i++) {
        memcpy(rows + i * size, arch[i], strlen(arch[i]));
        memcpy(rows + i * size + field[1].offset, &(double){(double)i}, sizeof(double));
    }
    nas_h5_put_metric(metrics, of_metric, &metric);
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", NAS_TABLE_FORMAT);
    nas_h5_set_int(file, "schema_major", NAS_TABLE_SCHEMA);
    nas_h5_set_text(file, "space", "nb201");
    nas_h5_put_rows(file, "metrics", of_metric, n_of_metric, metrics, 1);
    nas_h5_put_rows(file, "rows", field, n, rows, 3);
    nas_bytes bytes = {0};
    nas_h5_close_into(file, &bytes);
    put(out_path, bytes.data, bytes.size);
    nas_table *t = nas_table_open(out_path, &err);
    assert_non_null(t);
    assert_int_equal(t->n, 3);
    assert_int_equal(t->n_unique, 2);
    nas_arch found;
    double value;
    assert_false(nas_table_row(t, 1, &found));
    found = parse(ONE_CONV);
    assert_true(nas_table_find(t, &found, &value) && value == 2);
    nas_table_close(t);
    nas_bytes_clear(&bytes);
    free(rows);
    free(metrics);
}

static void test_import_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *arch, *metric, *want;
    } cases[] = {
        {"arch,acc\n" ALL_SKIP ",1\nx,2\n", "arch", "accuracy=acc", "line 3, column 1 (arch): "},
        {"arch,acc\n" ALL_SKIP ",one\n", "arch", "accuracy=acc",
         "line 2, column 2 (acc): 'one' is not a number"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=ac",
         "has no column 'ac' (did you mean 'acc'?)"},
        {"arch,acc\n" ALL_SKIP ",1\n", "ark", "accuracy=acc", "has no column 'ark'"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy", "it is not NAME=COL"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=acc,%,up", "'up' is not max or min"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=acc,%,max,100", "'100' is not x and"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=acc,%,max,x1,2", "it is not NAME=COL"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=acc,%,max,x0+1", "'x0+1' is not x and"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "accuracy=acc,%,max,x1+", "'x1+' is not x and"},
        {"arch,acc\n" ALL_SKIP ",1\n", "arch", "hash=acc", "is there already"},
        {"arch,acc\n", "arch", "accuracy=acc", "has no rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nas_err err = {0};
        assert_true(import_text(cases[i].text, cases[i].arch, &cases[i].metric, 1, &err) != NAS_OK);
        if (!strstr(err.text, cases[i].want))
            print_message("%s\n", err.text);
        assert_non_null(strstr(err.text, cases[i].want));
    }
    nas_err err = {0};
    nas_table_source from = {nas_space_find("nb201"), "arch", NULL, 0};
    assert_int_equal(nas_table_import(csv_path, &from, csv_path, false, &nas_disk_real, &err),
                     NAS_USAGE);
    assert_non_null(strstr(err.text, "exists"));
}

static nas_bytes good_table(void)
{
    static const char *const metric[] = {"accuracy=acc"};
    nas_bytes bytes = {0};
    nas_err err = {0};
    assert_int_equal(
        import_text("arch,acc\n" ALL_SKIP ",1\n" ONE_CONV ",2\n", "arch", metric, 1, &err), NAS_OK);
    assert_int_equal(nas_disk_read(out_path, &bytes, &err), NAS_OK);
    return bytes;
}

static void test_hostile_files(void **state)
{
    (void)state;
    nas_bytes bytes = good_table();
    for (size_t size = 0; size < bytes.size; size += 1 + size / 9) {
        nas_err err = {0};
        put(out_path, bytes.data, size);
        assert_null(nas_table_open(out_path, &err));
        assert_true(strlen(err.text) > 10);
    }
    nas_rng rng = nas_rng_seed(2);
    for (int round = 0; round < 400; round++) { /* one byte damaged, before the checksum */
        char *at = bytes.data + nas_rng_below(&rng, bytes.size - 16), old = *at;
        *at ^= (char)(1 + nas_rng_below(&rng, 255));
        put(out_path, bytes.data, bytes.size);
        *at = old;
        nas_err err = {0};
        assert_null(nas_table_open(out_path, &err));
        assert_non_null(strstr(err.text, out_path));
    }
    nas_bytes_clear(&bytes);
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", "other");
    nas_h5_close_into(file, &bytes);
    put(out_path, bytes.data, bytes.size);
    nas_err err = {0};
    assert_null(nas_table_open(out_path, &err));
    assert_non_null(strstr(err.text, "is HDF5 but not a naslm-table file"));
    nas_bytes_clear(&bytes);
    file = nas_h5_create();
    nas_h5_set_text(file, "format", "naslm-table");
    nas_h5_set_int(file, "schema_major", 9);
    nas_h5_close_into(file, &bytes);
    put(out_path, bytes.data, bytes.size);
    err = (nas_err){0};
    assert_null(nas_table_open(out_path, &err));
    assert_non_null(strstr(err.text, "has schema 9, newer than this program knows (1)"));
    nas_bytes_clear(&bytes);
    unlink(out_path);
    err = (nas_err){0};
    assert_null(nas_table_open(out_path, &err));
    assert_non_null(strstr(err.text, "does not exist"));
}

static int fail_rename(const char *from, const char *to)
{
    (void)from, (void)to;
    errno = ENOSPC;
    return -1;
}

static void test_full_disk(void **state)
{
    (void)state;
    nas_bytes old = good_table(), now = {0};
    nas_disk disk = nas_disk_real;
    disk.rename = fail_rename;
    static const char *const metric[] = {"accuracy=acc,,,x3"};
    nas_table_source from = {nas_space_find("nb201"), "arch", metric, 1};
    nas_err err = {0};
    assert_int_equal(nas_table_import(csv_path, &from, out_path, true, &disk, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "(rename): No space left on device"));
    assert_int_equal(nas_disk_read(out_path, &now, NULL), NAS_OK);
    assert_int_equal(now.size, old.size);
    assert_memory_equal(now.data, old.data, old.size); /* untouched, no temporary file left */
    nas_bytes_clear(&old);
    nas_bytes_clear(&now);
}

/* Every row of the shared nb201 table is found with the number of the CSV file; loading is fast. */
static void test_real_table(void **state)
{
    (void)state;
    const char *data = check_data_dir();
    if (!data)
        skip();
    char path[300];
    snprintf(path, sizeof path, "%s/nb201_latency.csv.gz", data);
    static const char *const metric[] = {"latency:raspi4=raspi4", "energy:edgegpu=edgegpu_energy"};
    nas_table_source from = {nas_space_find("nb201"), "arch", metric, 2};
    nas_err err = {0};
    assert_int_equal(nas_table_import(path, &from, out_path, true, &nas_disk_real, &err), NAS_OK);
    nas_table *t = nas_table_open(out_path, &err);
    assert_int_equal(t->n, 14625);
    assert_int_equal(t->n_unique, 14625);
    nas_bytes text = {0};
    for (size_t i = 0; i < t->n; i++) {
        double values[2];
        nas_arch arch = parse(nas_table_arch(t, i, &text));
        assert_true(nas_table_find(t, &arch, values));
        assert_true(values[0] == nas_table_value(t, i, 0));
    }
    nas_bytes_clear(&text);
    nas_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),         cmocka_unit_test(test_relabelings),
        cmocka_unit_test(test_broken_row),    cmocka_unit_test(test_import_faults),
        cmocka_unit_test(test_hostile_files), cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_real_table),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
