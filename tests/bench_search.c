/* What does searching itself cost? Drawing with exact deduplication, NSGA-II on a table beside
 * DEAP, and a large table search with its file. CPU seconds of this process. */
#include "results/table.h"
#include "search/search.h"

#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- draw, canonical form, set ---- */

static void bench_draws(const char *name, size_t n)
{
    const nas_space *space = nas_space_find(name);
    nas_arch_set set = {0};
    nas_rng rng = nas_rng_seed(1);
    double start = seconds();
    for (size_t i = 0; i < n; i++) {
        nas_arch arch, key;
        nas_space_sample(space, &rng, &arch);
        nas_space_canonical(space, &arch, &key);
        nas_arch_set_add(&set, &key, NULL);
    }
    double time = seconds() - start;
    printf("%-6s draw + canonical + set  %9.0f a second (%zu draws, %zu classes)\n", name,
           (double)n / time, n, set.n);
    nas_arch_set_clear(&set);
}

/* ---- searches on tables ---- */

static const char *folder;
static char table_path[2][80], path[80];

static nas_status import(const char *space, const char *file, const char *arch,
                         const char *const *metric, size_t n, const char *out)
{
    char csv[400];
    nas_err err = {0};
    const nas_table_source source = {nas_space_find(space), arch, metric, n};
    snprintf(csv, sizeof csv, "%s/%s", check_data_dir(), file);
    nas_status status = nas_table_import(csv, &source, out, true, &nas_disk_real, &err);
    if (status != NAS_OK)
        printf("%s\n", err.text);
    return status;
}

static nas_status open_sources(nas_sources *sources, const nas_space *space, size_t n_table,
                               const char *objectives, nas_metric *list, size_t *m)
{
    nas_err err = {0};
    for (size_t i = 0; i < n_table; i++) {
        char source[200];
        snprintf(source, sizeof source, "table:%s", table_path[i]);
        nas_sources_add(sources, space, space->tasks, source, &err);
    }
    if (n_table == 0)
        nas_sources_add(sources, space, space->tasks, "formula", &err);
    if (err.code == NAS_OK && nas_objectives_parse(objectives, list, m, &err) == NAS_OK)
        nas_sources_need(sources, list, *m, &err);
    if (err.code != NAS_OK)
        printf("%s\n", err.text);
    return err.code;
}

/* Seconds of one search; into a file when disk is not NULL. Negative when it failed. */
static double run_search(nas_sources *sources, const nas_space *space, const nas_metric *list,
                         size_t m, const char *searcher, uint64_t budget, const nas_disk *disk)
{
    nas_err err = {0};
    const nas_searcher_type *type = nas_searcher_need(searcher, &err);
    double options[NAS_SEARCHER_OPTIONS];
    nas_searcher_defaults(type, options);
    nas_search search = {.space = space,
                         .task = space->tasks,
                         .sources = sources,
                         .m = m,
                         .searcher = type,
                         .options = options,
                         .population = type->population,
                         .budget = budget,
                         .seed = 1};
    const nas_run_info info = {.space = space->name,
                               .task = space->tasks->name,
                               .seed = 1,
                               .config = "{}",
                               .provenance = "{}",
                               .metric = list,
                               .n_metric = m,
                               .n_objective = m};
    double start = seconds();
    nas_run *run = NULL;
    if (!disk)
        run = nas_run_new(&info);
    else
        nas_run_open(&run, path, &info, NAS_RUN_FORCE, &(nas_run_how){disk, 30, false}, &err);
    if (err.code == NAS_OK && nas_search_run(&search, run, &err) == NAS_OK && disk)
        nas_run_finish(run, &err);
    double time = seconds() - start;
    if (err.code != NAS_OK || nas_run_rows(run) != budget)
        time = -1;
    nas_run_close(run);
    return time;
}

/* The two columns as text, for DEAP: best of three runs of it. */
static double run_peer(nas_sources *sources, const nas_space *space, uint64_t budget)
{
    char file[100], line[300];
    snprintf(file, sizeof file, "%s/columns", folder);
    FILE *out = fopen(file, "w");
    for (uint64_t i = 0; out && i < nas_space_points(space); i++) {
        nas_arch arch;
        double values[2];
        nas_row_state state;
        nas_space_at(space, i, &arch);
        nas_sources_evaluate(sources, &arch, 1, values, &state, NULL);
        for (int k = 0; k < space->n_genes; k++)
            fputc('0' + arch.gene[k], out);
        fprintf(out, ",%.17g,%.17g\n", values[0], values[1]);
    }
    fclose(out);
    double best = -1;
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line,
                 "/usr/bin/python3 tests/bench_search_peer.py %s %llu 2>/dev/null", file,
                 (unsigned long long)budget);
        FILE *peer = popen(line, "r");
        double time;
        if (peer && fscanf(peer, "%lf", &time) == 1 && (best < 0 || time < best))
            best = time;
        if (peer)
            pclose(peer);
    }
    unlink(file);
    return best;
}

static void bench_nsga2(void)
{
    static const char *const accuracy[] = {"accuracy=c10_test"}, *const latency[] = {
                                                                     "latency:raspi4=raspi4"};
    const nas_space *space = nas_space_find("nb201");
    nas_sources sources = {0};
    nas_metric list[NAS_OBJECTIVE_MOST];
    size_t m;
    if (import("nb201", "nb201_accuracy.csv.gz", "arch", accuracy, 1, table_path[0]) == NAS_OK &&
        import("nb201", "nb201_latency.csv.gz", "arch", latency, 1, table_path[1]) == NAS_OK &&
        open_sources(&sources, space, 2, "max:accuracy,min:latency:raspi4", list, &m) == NAS_OK) {
        double best = 1e9;
        for (int i = 0; i < 5; i++) {
            double time = run_search(&sources, space, list, m, "nsga2", 10000, NULL);
            best = time < best ? time : best;
        }
        double peer = run_peer(&sources, space, 10000);
        printf("nsga2, population 20, 10,000 different rows of nb201: %.4f s", best);
        if (peer > 0)
            printf("; DEAP (repeats included) %.4f s, %.1f times as long\n", peer, peer / best);
        else
            printf("; DEAP: SKIPPED, python3-deap is not installed\n");
    }
    nas_sources_close(&sources);
}

static void bench_large(const char *name, size_t n_table, const char *objectives)
{
    const nas_space *space = nas_space_find(name);
    nas_sources sources = {0};
    nas_metric list[NAS_OBJECTIVE_MOST];
    size_t m;
    if (open_sources(&sources, space, n_table, objectives, list, &m) == NAS_OK)
        for (int i = 0; i < nas_searcher_count(); i++) {
            const char *searcher = nas_searcher_types[i]->name;
            uint64_t budget = strcmp(searcher, "guided") ? 100000 : 1000;
            double time = run_search(&sources, space, list, m, searcher, budget, &nas_disk_real);
            struct stat file = {0};
            stat(path, &file);
            printf("%-6s %-9s %llu evaluations: %.2f s, file %.1f MB\n", name, searcher,
                   (unsigned long long)budget, time, (double)file.st_size / 1e6);
        }
    nas_sources_close(&sources);
}

int main(void)
{
    static const char *const nb101[] = {"accuracy=test_acc", "params=params,,min"};
    char template[] = "/tmp/nas-bench-XXXXXX";
    folder = mkdtemp(template);
    if (!folder)
        return 1;
    snprintf(table_path[0], sizeof table_path[0], "%s/a.h5", folder);
    snprintf(table_path[1], sizeof table_path[1], "%s/b.h5", folder);
    snprintf(path, sizeof path, "%s/run.h5", folder);
    bench_draws("nb201", 4000000);
    bench_draws("nb101", 1000000);
    bench_large("toy", 0, "max:accuracy,min:latency:toy");
    if (check_data_dir()) {
        bench_nsga2();
        if (import("nb101", "nb101.csv.gz", "triu,ops", nb101, 2, table_path[0]) == NAS_OK)
            bench_large("nb101", 1, "max:accuracy,min:params");
    } else {
        printf("table searches: SKIPPED, no benchmark tables\n");
    }
    unlink(table_path[0]);
    unlink(table_path[1]);
    unlink(path);
    return rmdir(folder);
}
