/* results/csv, points: what is read, and one sentence for each thing that is wrong. */
#include "results/csv.h"
#include "results/points.h"

#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char path[] = "/tmp/nas-csv-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static void test_rows(void **state)
{
    (void)state;
    const char text[] =
        "name,\"a \"\"b\"\", c\",v\r\n\r\nx,\"1\n2\",3.5\n\n|o~0|+,,\r\n\"\",e,-1e3";
    put(text, sizeof text - 1);
    nas_err err = {0};
    nas_csv *csv = nas_csv_open(path, &err);
    assert_non_null(csv);
    assert_int_equal(csv->columns, 3);
    assert_string_equal(csv->name[0], "name");
    assert_string_equal(csv->name[1], "a \"b\", c");
    size_t column;
    assert_int_equal(nas_csv_need(csv, "v", &column, NULL), NAS_OK);
    assert_int_equal(column, 2);
    assert_int_equal(nas_csv_next(csv, &err), 1);
    assert_string_equal(csv->field[1], "1\n2");
    assert_int_equal(csv->line, 3);
    double value;
    assert_int_equal(nas_csv_real(csv, 2, &value, &err), NAS_OK);
    assert_true(value == 3.5);
    assert_int_equal(nas_csv_next(csv, &err), 1);
    assert_int_equal(csv->line, 6);
    assert_string_equal(csv->field[0], "|o~0|+");
    assert_int_equal(nas_csv_real(csv, 2, &value, &err), NAS_OK);
    assert_true(isnan(value));
    assert_int_equal(nas_csv_next(csv, &err), 1);
    assert_string_equal(csv->field[0], "");
    assert_int_equal(nas_csv_real(csv, 1, &value, &err), NAS_FAILED);
    char want[200];
    snprintf(want, sizeof want, "%s, line 7, column 2 (a \"b\", c): 'e' is not a number", path);
    assert_string_equal(err.text, want);
    assert_int_equal(nas_csv_next(csv, &err), 0);
    nas_csv_close(csv);
}

/* Reads all rows; the sentence of the first error without the path, or "". */
static const char *complaint(const char *text, size_t size)
{
    static nas_err err;
    err = (nas_err){0};
    put(text, size);
    nas_csv *csv = nas_csv_open(path, &err);
    while (csv && nas_csv_next(csv, &err) > 0) {
    }
    nas_csv_close(csv);
    const char *found = strstr(err.text, path);
    return found ? found + strlen(path) : err.text;
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", " is empty"},
        {"\n\n", " is empty"},
        {"a,b\n1,2\n1,2,3\n", ", line 3 has 3 fields, the header 2"},
        {"a,b\n1\n", ", line 2 has 1 fields, the header 2"},
        {"a,,c\n", ", line 1, column 2 has no name"},
        {"a,b,a\n", ", line 1: columns 1 and 3 are both named 'a'"},
        {"a,b\n1,2\n\n\"1\n\n2,3\n", ", line 4, column 1: the quote does not end"},
        {"a,b\n\"1\"x,3\n", ", line 2, column 1: text after a closing quote"},
        {"a,b\n1,2", ""},
        {"a\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(complaint(cases[i].text, strlen(cases[i].text)), cases[i].want);
    assert_string_equal(complaint("a,b\n1,\0\n", 8),
                        ", line 2, column 2: a NUL byte; is this a text file?");
    nas_err err = {0};
    assert_null(nas_csv_open("/nowhere/x.csv", &err));
    assert_string_equal(err.text, "cannot read '/nowhere/x.csv': No such file or directory");
    put("alpha,beta\n", 11);
    nas_csv *csv = nas_csv_open(path, NULL);
    size_t column;
    err = (nas_err){0};
    assert_int_equal(nas_csv_need(csv, "betta", &column, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "has no column 'betta' (did you mean 'beta'?)"));
    nas_csv_close(csv);
}

static void test_gzip(void **state)
{
    (void)state;
    gzFile gz = gzopen(path, "wb");
    gzputs(gz, "a,b\n");
    for (int i = 0; i < 100000; i++)
        gzprintf(gz, "%d,%d\n", i, i * 7919 % 10007);
    gzclose(gz);
    nas_csv *csv = nas_csv_open(path, NULL);
    assert_non_null(csv);
    long sum = 0, rows = 0;
    for (; nas_csv_next(csv, NULL) > 0; rows++)
        sum += atol(csv->field[0]);
    nas_csv_close(csv);
    assert_int_equal(rows, 100000);
    assert_int_equal(sum, 4999950000);
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(size, 1000, sizeof bytes - 1);
    assert_non_null(strstr(complaint(bytes, size / 2), "the compressed file is truncated"));
    memset(bytes + size / 3, 0x5a, 200);
    assert_true(strlen(complaint(bytes, size)) > 10);
}

static void test_points(void **state)
{
    (void)state;
    const char text[] = "# two sets\n1 2\n3\t4 # here\n\n\n# still\n-5 inf\n";
    put(text, strlen(text));
    nas_points p;
    assert_int_equal(nas_points_read(&p, path, NULL), NAS_OK);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.m, 2);
    assert_int_equal(p.n_set, 2);
    assert_int_equal(p.end[0], 2);
    assert_int_equal(nas_points_begin(&p, 1), 2);
    assert_true(p.value[3] == 4 && p.value[4] == -5 && isinf(p.value[5]));
    nas_points_clear(&p);
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", " holds no point"},
        {"1 2\n\n3\n", ", line 3 has 1 numbers, the first point 2"},
        {"1 2\n3 x4\n", ", line 2, column 2: 'x4' is not a number"},
        {"1 2\n3 4\nnan 1\n", ", line 3, column 1: NaN cannot be compared"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nas_err err = {0};
        put(cases[i].text, strlen(cases[i].text));
        assert_int_equal(nas_points_read(&p, path, &err), NAS_FAILED);
        assert_string_equal(err.text + strlen(path), cases[i].want);
        nas_points_clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_points),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
