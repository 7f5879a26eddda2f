#ifndef STET_LIBPQ_SHIM_H
#define STET_LIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
