#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

const char *check_data_dir(void)
{
    const char *dir = getenv("NASLM_DATA");
    if (!dir)
        dir = "../shared/data";
    return access(dir, R_OK) == 0 ? dir : NULL;
}
