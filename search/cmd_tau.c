/* naslm tau: do two columns of a CSV file rank alike? */
#include "results/csv.h"
#include "results/rank.h"
#include "search/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const nas_option OPTIONS[] = {
    {"truth", 0, "COL", "column of the measured values", NAS_OPTION_TEXT},
    {"score", 0, "COL", "column of the predictions", NAS_OPTION_TEXT},
    {"lower-is-better", 0, NULL, "low scores stand for high truth", NAS_OPTION_FLAG},
    NAS_OPTION_FORMAT,
    {0}};

typedef struct {
    double *truth, *score;
    size_t n, truth_cap, score_cap, skipped;
} pairs;

/* Rows in which either field is empty are left out and counted. */
static nas_status read_pairs(const char *path, const char *truth, const char *score, double sign,
                             pairs *p, nas_err *err)
{
    nas_csv *csv = nas_csv_open(path, err);
    size_t x = 0, y = 0;
    int more = 0;
    if (!csv || nas_csv_need(csv, truth, &x, err) != NAS_OK ||
        nas_csv_need(csv, score, &y, err) != NAS_OK)
        goto out;
    while ((more = nas_csv_next(csv, err)) > 0) {
        double a, b;
        if (nas_csv_real(csv, x, &a, err) != NAS_OK || nas_csv_real(csv, y, &b, err) != NAS_OK)
            goto out;
        if (isnan(a) || isnan(b)) {
            p->skipped++;
            continue;
        }
        p->truth = nas_grow(p->truth, &p->truth_cap, p->n + 1, sizeof *p->truth);
        p->score = nas_grow(p->score, &p->score_cap, p->n + 1, sizeof *p->score);
        p->truth[p->n] = a;
        p->score[p->n++] = sign * b;
    }
out:
    nas_csv_close(csv);
    return err->code;
}

enum { FEW = 10 }; /* rows whose tau can be anything */

static void caution(const nas_rank *rank)
{
    if (isnan(rank->tau_b))
        fprintf(stderr, "naslm: note: tau is undefined: %s\n",
                rank->n < 2 ? "fewer than two rows" : "a column is constant");
    else if (rank->n < FEW)
        fprintf(stderr, "naslm: note: %llu rows say little: tau-b lies in [%.2f, %.2f]\n",
                (unsigned long long)rank->n, rank->low, rank->high);
}

static nas_status run(nas_options *o, nas_err *err)
{
    static const char *const columns[] = {"tau_b",   "tau_a",      "spearman",   "n",      "low_95",
                                          "high_95", "ties_truth", "ties_score", "skipped"};
    const char *truth = nas_options_text(o, "truth", NULL);
    const char *score = nas_options_text(o, "score", NULL);
    if (nas_command_operands(o, 1, 1, "the CSV file", err) != NAS_OK)
        return err->code;
    if (!truth || !score)
        return nas_fail(err, NAS_USAGE, "option '--%s' is missing", truth ? "score" : "truth");
    pairs p = {0};
    nas_rank rank;
    nas_report report;
    double sign = nas_options_has(o, "lower-is-better") ? -1 : 1;
    nas_status status = read_pairs(o->operand[0], truth, score, sign, &p, err);
    if (status == NAS_OK)
        status = nas_rank_compare(p.truth, p.score, p.n, &rank, err);
    if (status == NAS_OK)
        status = nas_report_open(&report, o, columns, 9, err);
    if (status == NAS_OK) {
        caution(&rank);
        nas_report_real(&report, rank.tau_b);
        nas_report_real(&report, rank.tau_a);
        nas_report_real(&report, rank.spearman);
        nas_report_int(&report, (int64_t)rank.n);
        nas_report_real(&report, rank.low);
        nas_report_real(&report, rank.high);
        nas_report_int(&report, (int64_t)rank.ties_x);
        nas_report_int(&report, (int64_t)rank.ties_y);
        nas_report_int(&report, (int64_t)p.skipped);
        status = nas_report_close(&report, err);
    }
    free(p.truth);
    free(p.score);
    return status;
}

const nas_command nas_command_tau = {"tau",
                                     "FILE.csv --truth COL --score COL [--lower-is-better]",
                                     "rank correlation of two columns, with ties",
                                     NULL,
                                     OPTIONS,
                                     run};
