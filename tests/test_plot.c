/* results/plot: the script says what is drawn; pictures are made, white, and the same each time. */
#include "results/plot.h"

#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/nas-plot-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[2][80];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* A finished run of n rows (value 0, value 1, value 0 guessed), the last one infeasible. */
static nas_run *make_run(const char *objectives, double reference, const double (*value)[2],
                         size_t n)
{
    static const double upper[] = {INFINITY, 20, INFINITY};
    nas_metric metric[NAS_OBJECTIVE_MOST];
    size_t m;
    assert_int_equal(nas_objectives_parse(objectives, metric, &m, NULL), NAS_OK);
    char predicted[80];
    snprintf(predicted, sizeof predicted, "%s_predicted", metric[0].name);
    nas_metric_make(&metric[2], predicted, NULL);
    nas_run_info info = {.space = "nb201",
                         .task = "cifar10",
                         .config = "{}",
                         .provenance = "{}",
                         .metric = metric,
                         .n_metric = 3,
                         .n_objective = m,
                         .upper = upper};
    nas_run_how how = {&nas_disk_real, 1e9, false};
    const char *path = in_folder("run.h5");
    nas_run *run;
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_FORCE, &how, NULL), NAS_OK);
    nas_run_set_reference(run, (double[]){reference, 50});
    for (size_t i = 0; i < n; i++) {
        double v[] = {value[i][0], value[i][1], value[i][0] + 1};
        nas_run_row row = {
            .parent1 = -1, .parent2 = -1, .feasible = i + 1 < n, .arch = "a", .value = v};
        nas_run_add(run, &row);
        if (i % 2)
            nas_run_commit(run, &(nas_run_step){(int64_t)i + 1, 1, (double)i, 0}, NULL);
    }
    assert_int_equal(nas_run_finish(run, NULL), NAS_OK);
    nas_run_close(run);
    assert_int_equal(nas_run_read(&run, path, NULL), NAS_OK);
    unlink(path);
    return run;
}

static const double VALUE[][2] = {{90, 10}, {80, 5}, {85, 12}, {93, 18}, {70, 6}, {95, 30}};
enum { ROWS = sizeof VALUE / sizeof *VALUE };

static nas_run *usual_run(void)
{
    return make_run("max:accuracy,min:latency:raspi4", 10, VALUE, ROWS);
}

static nas_bytes script_of(nas_plot plot)
{
    nas_bytes script = {0};
    nas_err err = {0};
    if (nas_plot_script(&plot, "dumb", &script, &err))
        fail_msg("%s", err.text);
    return script;
}

static void assert_has(const nas_bytes *script, const char *want)
{
    if (!strstr(script->data, want))
        fail_msg("no '%s' in\n%s", want, script->data);
}

static void test_front_script(void **state)
{
    (void)state;
    nas_run *run = usual_run();
    const nas_run *runs[] = {run, run};
    const char *labels[] = {"it's", "b_c"};
    nas_bytes s = script_of((nas_plot){.run = runs, .label = labels, .n_run = 1});
    assert_has(&s, "$front0 << EOD\n5 80\n10 90\n18 93\nEOD\n");
    assert_has(&s, "$cloud << EOD\n12 85\n6 70\nEOD\n");
    assert_has(&s, "$infeasible << EOD\n30 95\nEOD\n");
    assert_has(&s, "$front0 with steps ");
    assert_has(&s, "set ylabel 'accuracy [%], more is better'");
    assert_has(&s, "set xlabel 'latency:raspi4 [ms], less is better'");
    assert_has(&s, "set label '\342\211\244 20 ms'");
    nas_bytes_clear(&s);
    s = script_of((nas_plot){.run = runs, .label = labels, .n_run = 2});
    assert_has(&s, "title 'it''s'");
    assert_has(&s, "title 'b_c'");
    assert_has(&s, "'nb201 cifar10, 2 runs'");
    nas_bytes_clear(&s);
    const char *odd[] = {"\033[1m\377x", "\303\251"}; /* a picture must stay UTF-8 */
    s = script_of((nas_plot){.run = runs, .label = odd, .n_run = 2});
    assert_has(&s, "title '?[1m?x'");
    assert_has(&s, "title '\303\251'");
    nas_bytes_clear(&s);
    s = script_of((nas_plot){
        .run = runs, .label = labels, .n_run = 1, .x = "accuracy", .y = "latency:raspi4"});
    assert_has(&s, "$front0 with fsteps "); /* more is better on x: the step comes first */
    nas_bytes_clear(&s);
    s = script_of((nas_plot){.run = runs, .label = labels, .n_run = 1, .x = "evaluation"});
    assert_has(&s, "$front0 << EOD\n1 90\n4 93\nEOD\n");
    assert_has(&s, "title 'best so far'");
    nas_bytes_clear(&s);
    s = script_of((nas_plot){.run = runs, .label = labels, .n_run = 1, .x = "accuracy_predicted"});
    assert_has(&s, "set label 'tau-b 1.000, n 6'");
    assert_null(strstr(s.data, "front0 with"));
    nas_bytes_clear(&s);
    s = script_of((nas_plot){.run = runs, .label = labels, .n_run = 2, .history = true});
    assert_has(&s, "$run1 << EOD\n2 1\n4 3\n6 5\nEOD\n");
    assert_has(&s, "set ylabel 'hypervolume up to 10 %, 50 ms'");
    nas_bytes_clear(&s);
    nas_run_close(run);
}

/* Three good rows among many bad ones, one of them at a hundredth of the accuracy. */
static void test_beyond(void **state)
{
    (void)state;
    double value[200][2];
    for (size_t i = 0; i < 200; i++) {
        value[i][0] = i < 8 ? 1 : 90 + (double)(i % 7);
        value[i][1] = 10 + (double)(i % 11);
    }
    nas_run *run = make_run("max:accuracy,min:latency:raspi4", 10, value, 200);
    nas_bytes s = script_of(
        (nas_plot){.run = (const nas_run *[]){run}, .label = (const char *[]){"r"}, .n_run = 1});
    assert_has(&s, ", 8 beyond the axes'");
    nas_bytes_clear(&s);
    nas_run_close(run);
}

static void refuse(nas_plot plot, nas_status want, const char *text)
{
    nas_bytes script = {0};
    nas_err err = {0};
    assert_int_equal(nas_plot_script(&plot, "dumb", &script, &err), want);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    nas_bytes_clear(&script);
}

static void test_refusals(void **state)
{
    (void)state;
    nas_run *a = usual_run();
    nas_run *b = make_run("max:accuracy,min:latency:raspi4", 11, VALUE, ROWS);
    nas_run *c = make_run("max:accuracy,max:latency:raspi4", 10, VALUE, ROWS);
    nas_run *empty = make_run("max:accuracy,min:latency:raspi4", 10, VALUE, 0);
    const char *labels[] = {"a.h5", "b.h5"};
    const nas_run *ab[] = {a, b}, *ac[] = {a, c}, *none[] = {empty};
    refuse((nas_plot){.run = ab, .label = labels, .n_run = 1, .x = "latency:raspi3"}, NAS_USAGE,
           "a.h5 has no metric 'latency:raspi3' (did you mean 'latency:raspi4'?)");
    refuse((nas_plot){.run = ab, .label = labels, .n_run = 2, .history = true}, NAS_USAGE,
           "a.h5 and b.h5 have different reference points");
    refuse((nas_plot){.run = ac, .label = labels, .n_run = 2}, NAS_USAGE,
           "a.h5 and b.h5 have different objectives");
    refuse((nas_plot){.run = none, .label = labels, .n_run = 1}, NAS_EMPTY, "there is no row");
    refuse((nas_plot){.run = none, .label = labels, .n_run = 1, .history = true}, NAS_EMPTY,
           "has no history");
    nas_plot plot = {.run = ab, .label = labels, .n_run = 1};
    nas_err err = {0};
    assert_int_equal(nas_plot_write(&plot, "x.bmp", false, &nas_disk_real, &err), NAS_USAGE);
    assert_string_equal(err.text, "'x.bmp' does not end in .svg, .png, .pdf or .gp");
    nas_run_close(a);
    nas_run_close(b);
    nas_run_close(c);
    nas_run_close(empty);
}

static void test_pictures(void **state)
{
    (void)state;
    nas_run *run = usual_run();
    nas_plot plot = {.run = (const nas_run *[]){run}, .label = (const char *[]){"run"}, .n_run = 1};
    static const struct {
        const char *name, *start;
    } formats[] = {{"f.svg", "<?xml"}, {"f.png", "\211PNG"}, {"f.pdf", "%PDF-"}, {"f.gp", "set "}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        nas_bytes bytes[2] = {{0}, {0}};
        const char *path = in_folder(formats[i].name);
        for (int k = 0; k < 2; k++) {
            nas_err err = {0};
            if (nas_plot_write(&plot, path, k, &nas_disk_real, &err))
                fail_msg("%s", err.text);
            assert_int_equal(nas_disk_read(path, &bytes[k], NULL), NAS_OK);
            if (k == 0)
                sleep(formats[i].name[3] == 'd'); /* a PDF's date counts seconds */
        }
        assert_memory_equal(bytes[0].data, formats[i].start, strlen(formats[i].start));
        assert_int_equal(bytes[0].size, bytes[1].size);
        assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
        if (i == 0)
            assert_has(&bytes[0], "fill=\"#ffffff\"/>"); /* the background is painted */
        nas_err err = {0};
        assert_int_equal(nas_plot_write(&plot, path, false, &nas_disk_real, &err), NAS_USAGE);
        assert_non_null(strstr(err.text, "exists"));
        unlink(path);
        nas_bytes_clear(&bytes[0]);
        nas_bytes_clear(&bytes[1]);
    }
    char *old = nas_strdup(getenv("PATH"));
    setenv("PATH", folder, 1);
    nas_err err = {0};
    assert_int_equal(nas_plot_write(&plot, in_folder("g.svg"), false, &nas_disk_real, &err),
                     NAS_FAILED);
    assert_non_null(strstr(err.text, "cannot run gnuplot: No such file or directory"));
    setenv("PATH", old, 1);
    free(old);
    nas_run_close(run);
}

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int drop_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* nothing is left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_script),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
