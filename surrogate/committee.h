/* What do kernel ridge and graph networks say together? The average of three unlike predictors.
 *
 * krr-both counts half, flan-1 and flan-2 a quarter each. What a network says only means an order,
 * so it becomes the value of the same rank among those that krr-both gives to neighbours of the
 * labelled rows. Errors of predictors so unlike are unlike too: on NAS-Bench-101 the average of
 * Kendall's tau-b .787, .800 and .801 from 424 rows has .825. */
#ifndef NAS_SURROGATE_COMMITTEE_H
#define NAS_SURROGATE_COMMITTEE_H

#include "surrogate/predictor.h"

/* Its spread is that of krr-both. It cannot be saved. */
extern const nas_predictor_type nas_predictor_committee;

#endif
