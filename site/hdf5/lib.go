//go:build hdf5

package hdf5

/*
#cgo linux CFLAGS: -I/usr/include/hdf5/serial
#include <stdlib.h>
#include "lib.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Built reports whether this binary has HDF5.
const Built = true

// lib is held by the one goroutine in the C library, and guards the state of every open file.
var lib sync.Mutex

// call runs f, which uses the library, and puts the name of the file before its
// error.
func call(file string, f func() error) error {
	lib.Lock()
	defer lib.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.evb_h5_listen()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// because adds the operation and the reason to an error of the library.
func because(what string, err error) error {
	if err == nil {
		return nil
	}
	if why := C.GoString(C.evb_h5_why()); why != "" {
		err = reasonOf(why)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// closing closes an object of the library when the function that opened it ends. A failure becomes
// that function's error, unless it has one.
func closing(c io.Closer, err *error) {
	if e := because("close", c.Close()); *err == nil {
		*err = e
	}
}

var errRefused = errors.New("HDF5 refuses")

// remove removes an object from a file. Its room is not used again.
func remove(file *hdf5.File, name string) error {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if C.evb_h5_unlink(C.hid_t(file.ID()), c) < 0 {
		return because("remove "+name, errRefused)
	}
	return nil
}

// stringType is a text in UTF-8 of so many bytes, the zero at its end included.
// The caller closes it.
func stringType(bytes int) (*hdf5.Datatype, error) {
	t, err := hdf5.T_C_S1.Copy()
	if err != nil {
		return nil, because("string type", err)
	}
	if err := t.SetSize(bytes); err != nil || C.evb_h5_utf8(C.hid_t(t.ID())) < 0 {
		return nil, errors.Join(because(fmt.Sprintf("string type of %d bytes", bytes), errRefused), t.Close())
	}
	return t, nil
}

// systemError matches the library's report of a system error: "file write failed: time = …,
// filename = 'x', errno = 28, error message = '…', …", or "unable to lock file, errno = 11, …".
var systemError = regexp.MustCompile(`(?s)^([^:,]*)[:,].*\berrno = (\d+),`)

// reasonOf makes an error of the library's message, in one line. It wraps a system error.
func reasonOf(why string) error {
	if m := systemError.FindStringSubmatch(why); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			return fmt.Errorf("%s: %w", m[1], syscall.Errno(n))
		}
	}
	return errors.New(strings.Join(strings.Fields(why), " "))
}
