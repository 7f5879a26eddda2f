#include "CStetFork.h"

#include <sys/wait.h>
#include <unistd.h>

int stet_fork(void) { return fork(); }

int stet_wait(int child) {
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}
