#include "search/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *nas_real_text(double value, char text[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

nas_status nas_report_open(nas_report *report, const nas_options *options,
                           const char *const *column, size_t n_column, nas_err *err)
{
    static const char *const formats[] = {"table", "csv", "tsv", "json", "markdown"};
    enum { N = sizeof formats / sizeof *formats };
    const char *format = nas_options_text(options, "format", "table");
    *report = (nas_report){.column = column, .n_column = n_column};
    size_t i = 0;
    while (i < N && strcmp(format, formats[i]))
        i++;
    char hint[100];
    if (i == N)
        return nas_fail(err, NAS_USAGE, "unknown format '%s'%s", format,
                        nas_hint(hint, sizeof hint, format, formats, N));
    report->format = (nas_format)i;
    char separator = report->format == NAS_FORMAT_TSV ? '\t' : ',';
    if (report->format == NAS_FORMAT_CSV || report->format == NAS_FORMAT_TSV)
        for (size_t c = 0; c < n_column; c++)
            printf("%s%c", column[c], c + 1 < n_column ? separator : '\n');
    if (report->format == NAS_FORMAT_MARKDOWN)
        for (size_t c = 0; c < 2 * n_column; c++)
            printf("%s %s%s", c % n_column ? " |" : "|", c < n_column ? column[c] : "---",
                   (c + 1) % n_column ? "" : " |\n");
    if (report->format == NAS_FORMAT_JSON)
        fputs("[", stdout);
    return NAS_OK;
}

static void put_json_text(nas_bytes *out, const char *text)
{
    nas_bytes_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            nas_bytes_putc(out, '\\');
        if ((unsigned char)*text < 0x20)
            nas_bytes_print(out, "\\u%04x", *text);
        else
            nas_bytes_putc(out, *text);
    }
    nas_bytes_putc(out, '"');
}

static void put_csv_text(nas_bytes *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        nas_bytes_puts(out, text);
        return;
    }
    nas_bytes_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            nas_bytes_putc(out, '"');
        nas_bytes_putc(out, *text);
    }
    nas_bytes_putc(out, '"');
}

/* One cell; quoted: a text, else a number or null as it stands. */
static void put_cell(nas_report *r, const char *text, bool quoted)
{
    size_t column = r->at++ % r->n_column;
    bool last = column + 1 == r->n_column;
    nas_bytes *out = &r->cells;
    switch (r->format) {
    case NAS_FORMAT_TABLE:
        nas_bytes_put(out, text, strlen(text) + 1);
        break;
    case NAS_FORMAT_JSON:
        nas_bytes_puts(out, column ? ", " : r->n_row ? ",\n {" : "\n {");
        put_json_text(out, r->column[column]);
        nas_bytes_puts(out, ": ");
        if (quoted)
            put_json_text(out, text);
        else
            nas_bytes_puts(out, text);
        if (last)
            nas_bytes_putc(out, '}');
        break;
    case NAS_FORMAT_CSV:
        put_csv_text(out, text);
        nas_bytes_putc(out, last ? '\n' : ',');
        break;
    case NAS_FORMAT_MARKDOWN:
        nas_bytes_puts(out, column ? " | " : "| ");
        for (; *text; text++)
            nas_bytes_print(out, *text == '|' ? "\\|" : "%c", *text);
        nas_bytes_puts(out, last ? " |\n" : "");
        break;
    case NAS_FORMAT_TSV:
        for (; *text; text++) /* a tab or newline inside a cell would make another one */
            nas_bytes_putc(out, *text == '\t' || *text == '\n' ? ' ' : *text);
        nas_bytes_putc(out, last ? '\n' : '\t');
        break;
    }
    r->n_row += last;
    if (last && r->format != NAS_FORMAT_TABLE && out->size > 1 << 15) {
        fwrite(out->data, 1, out->size, stdout);
        nas_bytes_reset(out);
    }
}

void nas_report_text(nas_report *report, const char *text)
{
    put_cell(report, text, true);
}

void nas_report_int(nas_report *report, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_cell(report, text, false);
}

void nas_report_real(nas_report *report, double value)
{
    char text[32];
    if (isfinite(value))
        put_cell(report, nas_real_text(value, text), false);
    else if (report->format == NAS_FORMAT_JSON)
        put_cell(report, "null", false);
    else
        put_cell(report, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", false);
}

/* Columns as wide as their widest cell, two blanks between. */
static void print_table(const nas_report *r)
{
    size_t *width = nas_zalloc(r->n_column, sizeof *width);
    const char *cell = nas_bytes_text(&r->cells);
    for (size_t c = 0; c < r->n_column; c++)
        width[c] = strlen(r->column[c]);
    for (size_t i = 0; i < r->at; i++, cell += strlen(cell) + 1)
        if (strlen(cell) > width[i % r->n_column])
            width[i % r->n_column] = strlen(cell);
    cell = nas_bytes_text(&r->cells);
    for (size_t i = 0; i < r->n_column + r->at; i++) {
        size_t c = i % r->n_column;
        const char *text = i < r->n_column ? r->column[i] : cell;
        if (c + 1 < r->n_column)
            printf("%-*s  ", (int)width[c], text);
        else
            printf("%s\n", text);
        if (i >= r->n_column)
            cell += strlen(cell) + 1;
    }
    free(width);
}

nas_status nas_report_close(nas_report *report, nas_err *err)
{
    if (report->format == NAS_FORMAT_TABLE && report->column)
        print_table(report);
    else if (report->cells.size)
        fwrite(report->cells.data, 1, report->cells.size, stdout);
    if (report->format == NAS_FORMAT_JSON)
        fputs(report->n_row ? "\n]\n" : "]\n", stdout);
    nas_bytes_clear(&report->cells);
    if (fflush(stdout) || ferror(stdout))
        return nas_fail(err, NAS_FAILED, "cannot write to standard output");
    return NAS_OK;
}
