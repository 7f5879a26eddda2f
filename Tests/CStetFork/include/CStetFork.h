// fork(2), which Swift does not offer: a program may not go on in a forked child, but for a test of
// what a store says there.

#ifndef CSTET_FORK_H
#define CSTET_FORK_H

/// 0 in the child, the child's process id in the parent, -1 on failure.
int stet_fork(void);

/// The exit code of a child, or -1.
int stet_wait(int child);

#endif
