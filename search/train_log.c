#include "search/train_log.h"

#include "results/disk.h"
#include "results/h5.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

void nas_train_log_step(nas_train_log *log, const nas_train_report *r, double rate)
{
    log->open.step = (int64_t)r->step;
    log->open.epoch = (int64_t)r->epoch;
    log->open.tokens += (int64_t)r->tokens;
    log->open.loss += isfinite(r->loss) ? r->loss : 0;
    log->open.norm += isfinite(r->norm) ? r->norm : 0;
    log->open.rate = rate;
    log->updates++;
}

void nas_train_log_point(nas_train_log *log, double tau)
{
    if (!log->updates)
        return;
    log->point = nas_grow(log->point, &log->cap, log->n + 1, sizeof *log->point);
    nas_train_point *p = &log->point[log->n++];
    *p = log->open;
    p->loss /= (double)log->updates;
    p->norm /= (double)log->updates;
    p->tau = tau;
    log->open.loss = log->open.norm = 0;
    log->updates = 0;
}

void nas_train_log_clear(nas_train_log *log)
{
    free(log->point);
    *log = (nas_train_log){0};
}

double nas_train_log_best(const nas_train_log *log, size_t *since)
{
    double best = NAN;
    *since = 0;
    for (size_t i = 0; i < log->n; i++) {
        double tau = log->point[i].tau;
        if (isnan(tau))
            continue;
        bool better = isnan(best) || tau > best;
        *since = better ? 0 : *since + 1;
        best = better ? tau : best;
    }
    return best;
}

/* ---- the file ---- */

static const nas_h5_field FIELDS[] = {
    {"step", NAS_H5_INT64, 8, offsetof(nas_train_point, step)},
    {"epoch", NAS_H5_INT64, 8, offsetof(nas_train_point, epoch)},
    {"tokens", NAS_H5_INT64, 8, offsetof(nas_train_point, tokens)},
    {"loss", NAS_H5_REAL, 8, offsetof(nas_train_point, loss)},
    {"norm", NAS_H5_REAL, 8, offsetof(nas_train_point, norm)},
    {"rate", NAS_H5_REAL, 8, offsetof(nas_train_point, rate)},
    {"tau", NAS_H5_REAL, 8, offsetof(nas_train_point, tau)},
};

nas_status nas_train_log_save(const nas_train_log *log, const char *path, nas_err *err)
{
    nas_bytes bytes = {0};
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", "naslm-training");
    nas_h5_set_int(file, "schema_major", 1);
    nas_h5_set_int(file, "schema_minor", 0);
    nas_h5_set_text(file, "producer_version", NAS_VERSION);
    nas_h5_put_rows(file, "steps", FIELDS, sizeof FIELDS / sizeof *FIELDS, log->point, log->n);
    nas_h5_close_into(file, &bytes);
    nas_status status = nas_disk_replace(&nas_disk_real, path, bytes.data, bytes.size, err);
    nas_bytes_clear(&bytes);
    return status;
}

/* ---- the text: [[step, epoch, tokens, loss, norm, rate, tau or null], …, [open, updates]] ---- */

static json_t *to_json(const nas_train_point *p, json_t *last)
{
    return json_pack("[I, I, I, f, f, f, o]", (json_int_t)p->step, (json_int_t)p->epoch,
                     (json_int_t)p->tokens, p->loss, p->norm, p->rate, last);
}

void nas_train_log_print(const nas_train_log *log, nas_bytes *out)
{
    json_t *all = json_array();
    for (size_t i = 0; i < log->n; i++) {
        double tau = log->point[i].tau;
        json_array_append_new(all,
                              to_json(&log->point[i], isnan(tau) ? json_null() : json_real(tau)));
    }
    json_array_append_new(all, to_json(&log->open, json_integer(log->updates)));
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        nas_out_of_memory(0);
    nas_bytes_puts(out, text);
    free(text);
    json_decref(all);
}

static bool from_json(json_t *row, nas_train_point *p, json_t **last)
{
    json_int_t step, epoch, tokens;
    *p = (nas_train_point){0};
    if (json_unpack(row, "[I, I, I, F, F, F, o !]", &step, &epoch, &tokens, &p->loss, &p->norm,
                    &p->rate, last))
        return false;
    p->step = step;
    p->epoch = epoch;
    p->tokens = tokens;
    p->tau = NAN;
    return true;
}

nas_status nas_train_log_parse(nas_train_log *log, const char *text, nas_err *err)
{
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *last;
    size_t n = json_array_size(all);
    bool good = n > 0;
    nas_train_log_clear(log);
    for (size_t i = 0; i < n && good; i++) {
        nas_train_point p;
        good = from_json(json_array_get(all, i), &p, &last);
        if (good && i + 1 == n) {
            log->open = p;
            log->updates = json_integer_value(last);
        } else if (good) {
            p.tau = json_is_null(last) ? NAN : json_number_value(last);
            log->point = nas_grow(log->point, &log->cap, log->n + 1, sizeof *log->point);
            log->point[log->n++] = p;
        }
    }
    json_decref(all);
    return good ? NAS_OK : nas_fail(err, NAS_FAILED, "its log cannot be read");
}
