#if !__has_include(<lmdb.h>)
#error "Stet needs the LMDB header: run `make setup`, or `sudo apt-get install liblmdb-dev`"
#endif
#include <lmdb.h>
