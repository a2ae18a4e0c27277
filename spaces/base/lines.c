#include "spaces/base/lines.h"

#include <errno.h>
#include <string.h>

enum { LONGEST = 1 << 20 };

nas_status nas_lines_open(nas_lines *lines, const char *path, nas_err *err)
{
    bool standard = !strcmp(path, "-");
    *lines = (nas_lines){.file = standard ? stdin : fopen(path, "re"),
                         .name = standard ? "standard input" : path};
    return lines->file ? NAS_OK
                       : nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, strerror(errno));
}

nas_status nas_lines_next(nas_lines *lines, nas_err *err)
{
    nas_bytes *text = &lines->text;
    int c;
    nas_bytes_reset(text);
    lines->number++;
    while ((c = getc_unlocked(lines->file)) != EOF && c != '\n') {
        if (c == '\0')
            return nas_fail(err, NAS_FAILED, "%s, line %zu, column %zu: a NUL byte; is it text?",
                            lines->name, lines->number, text->size + 1);
        if (text->size == LONGEST)
            return nas_fail(err, NAS_FAILED, "%s, line %zu is longer than %d bytes", lines->name,
                            lines->number, LONGEST);
        nas_bytes_putc(text, (char)c);
    }
    if (c == EOF && ferror(lines->file))
        return nas_fail(err, NAS_FAILED, "cannot read %s: %s", lines->name, strerror(errno));
    if (c == EOF && text->size == 0)
        return NAS_EMPTY;
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which editors put in front */
    if (lines->number == 1 && text->size >= 3 && !memcmp(text->data, mark, 3)) {
        text->size -= 3;
        memmove(text->data, text->data + 3, text->size);
    }
    nas_bytes_puts(text, ""); /* an empty line is a string too */
    if (text->size > 0 && text->data[text->size - 1] == '\r')
        text->data[--text->size] = '\0';
    return NAS_OK;
}

void nas_lines_close(nas_lines *lines)
{
    if (lines->file && lines->file != stdin)
        fclose(lines->file);
    nas_bytes_clear(&lines->text);
    *lines = (nas_lines){0};
}
