//go:build hdf5

#ifndef EVB_H5_LIB_H
#define EVB_H5_LIB_H

#include <hdf5.h>

void evb_h5_listen(void);
const char *evb_h5_why(void);
herr_t evb_h5_utf8(hid_t type);
herr_t evb_h5_unlink(hid_t file, const char *name);
herr_t evb_h5_doubles(hid_t set, double *to);

#endif
