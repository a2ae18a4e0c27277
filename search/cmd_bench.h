/* What does `naslm bench predictors` understand? Its part of the bench command. */
#ifndef NAS_SEARCH_CMD_BENCH_H
#define NAS_SEARCH_CMD_BENCH_H

#include "search/command.h"

/* clang-format off */
#define NAS_BENCH_PREDICTORS_OPTIONS                                                               \
    {"table", 0, "T.h5", "predictors: the measured values", NAS_OPTION_TEXT},                      \
    {"metric", 0, "M", "predictors: the column to predict", NAS_OPTION_TEXT},                      \
    {"methods", 0, "LIST", "predictors: names, or table:COL of --proxies (default: all; rlm and committee only with --start)",          \
     NAS_OPTION_TEXT},                                                                             \
    {"n", 0, "N1,N2", "predictors: training rows (default 78,156,469)", NAS_OPTION_TEXT},          \
    {"draws", 0, "N", "predictors: splits (default 20 up to 172 rows, else 5)", NAS_OPTION_U64},   \
    {"tests", 0, "N", "predictors: most test rows (default: 10000 for nb101, else all)",           \
     NAS_OPTION_U64},                                                                              \
    {"setting", 0, "S", "predictors: scratch (default), transfer or all", NAS_OPTION_TEXT},        \
    {"predictions", 0, "FILE.csv", "predictors: arch and a column a method; n and draw optional",  \
     NAS_OPTION_TEXT},                                                                             \
    {"start", 0, "MODEL", "predictors: a model that can read, where rlm begins; method 'known': a " \
     "mixture of what it knows",                                                                   \
     NAS_OPTION_TEXT},                                                                             \
    {"proxies", 0, "T.h5", "predictors: table of scores for table:COL", NAS_OPTION_TEXT},          \
    {"against", 0, "METHOD", "predictors: paired 90 % interval of tau-b less METHOD's",            \
     NAS_OPTION_TEXT},                                                                             \
    {"progress", 0, "HOW", "predictors: plain (default) or none", NAS_OPTION_TEXT}
/* clang-format on */

#define NAS_BENCH_PREDICTORS_DETAILS                                                               \
    "predictors: rows in the order of the MD5 of SPACE:DRAW:CANONICAL; the first n are learned\n"  \
    "from, all others are ranked. With -o an existing file is continued (--force: replaced). "     \
    "Setting\nall learns from all but the last 5 % of the order of draw 0. tau_b is the mean "     \
    "over "                                                                                        \
    "draws,\nprecision_1 the share of the true best 1 % among the predicted, best_of_10 the best " \
    "true\nrank among the ten predicted best, seconds are of CPU."

nas_status nas_bench_predictors_run(const nas_options *options, nas_err *err);

#endif
