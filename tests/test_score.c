/* results/score: statistics of draws against hand-made ones, and the file. */
#include "results/score.h"

#include "results/h5.h"
#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_summary(void **state)
{
    (void)state;
    nas_score s = {.at = 7};
    nas_score_summarise(&s, (double[]){4, 1, 3, 2, 10}, 5);
    assert_true(s.n == 5 && s.at == 7 && s.mean == 4 && s.median == 3);
    assert_true(fabs(s.std - sqrt(12.5)) < 1e-12);
    assert_true(fabs(s.p10 - 1.4) < 1e-12 && fabs(s.p90 - 7.6) < 1e-12);
    nas_score_summarise(&s, (double[]){1, 2}, 2);
    assert_true(s.median == 1.5 && s.mean == 1.5);
    nas_score_summarise(&s, (double[]){5}, 1);
    assert_true(s.mean == 5 && s.median == 5 && s.p10 == 5 && s.p90 == 5 && isnan(s.std));
    nas_score_summarise(&s, NULL, 0);
    assert_true(s.n == 0 && isnan(s.mean) && isnan(s.median) && isnan(s.std));
}

static void test_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/nas-score-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.h5", folder);
    nas_score list[2] = {
        {.space = "toy", .target = "a", .method = "m", .measure = "share", .at = 9},
        {.space = "nb201", .target = "b", .method = "n", .measure = "best"}};
    nas_err err = {0};
    assert_int_equal(nas_scores_save(path, list, 2, "{\"k\": 1}", false, &err), NAS_OK);
    assert_int_equal(nas_scores_save(path, list, 2, "{}", false, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(nas_scores_save(path, list, 1, "{\"k\": 2}", true, NULL), NAS_OK);
    hid_t file = nas_h5_open(path, "naslm-scores", 1, NULL);
    nas_bytes text = {0};
    assert_true(file >= 0 && nas_h5_get_text(file, "settings", &text));
    assert_string_equal(text.data, "{\"k\": 2}");
    nas_h5_field field[] = {{"method", NAS_H5_TEXT, 64, 0}, {"at", NAS_H5_INT64, 8, 64}};
    void *rows;
    size_t n;
    assert_true(nas_h5_get_rows(file, "scores", field, 2, &rows, &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows, "m");
    assert_true(*(int64_t *)((char *)rows + 64) == 9);
    nas_h5_close(file);
    nas_bytes_clear(&text);
    free(rows);
    err = (nas_err){0};
    assert_int_equal(nas_scores_save("/nowhere/s.h5", list, 1, "{}", false, &err), NAS_FAILED);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_summary), cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
