#include "results/run_inner.h"

#include <string.h>

void nas_run_hold(nas_run *run, const nas_run_answer *answer)
{
    nas_run_answer own = *answer;
    own.arch = nas_arena_print(run->text, "%s", answer->arch);
    own.value = nas_arena_copy(run->text, answer->value, answer->n * sizeof *answer->value);
    run->answer = nas_grow(run->answer, &run->answer_cap, run->n_answer + 1, sizeof own);
    run->answer[run->n_answer++] = own;
}

nas_status nas_run_keep(nas_run *run, const nas_run_answer *answer, nas_err *err)
{
    if (!run->how.disk)
        return NAS_OK;
    nas_bytes record = {0};
    nas_journal_put_answer(&record, answer);
    nas_status status = nas_run_append(run, &record, run->how.sync_each, err);
    nas_bytes_clear(&record);
    if (status)
        return status;
    run->kept = run->journal_size;
    nas_run_hold(run, answer);
    return NAS_OK;
}

const nas_run_answer *nas_run_kept(const nas_run *run, size_t source, const char *arch)
{
    for (size_t i = 0; i < run->n_answer; i++)
        if (run->answer[i].source == source && !strcmp(run->answer[i].arch, arch))
            return &run->answer[i];
    return NULL;
}
