#if !__has_include(<lmdb.h>)
#error "Stet needs the LMDB header: run `make setup`, or `sudo apt-get install liblmdb-dev`"
#endif
#include <lmdb.h>

// What Swift's Glibc module leaves out.
#include <sys/vfs.h>
int renameat2(int, const char *, int, const char *, unsigned int);
