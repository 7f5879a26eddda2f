#if !__has_include(<libstemmer.h>)
#error "StetStemming needs libstemmer: run `make setup`, or `sudo apt-get install libstemmer-dev`"
#endif
#include <libstemmer.h>
