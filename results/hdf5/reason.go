//go:build hdf5

package hdf5

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// systemError is how the library reports an error of the system: "file write
// failed: time = …, filename = 'x', errno = 28, error message = '…', …", or "unable
// to lock file, errno = 11, …".
var systemError = regexp.MustCompile(`(?s)^([^:,]*)[:,].*\berrno = (\d+),`)

// reasonOf makes an error of what the library says, in one line. One of the
// system is wrapped.
func reasonOf(why string) error {
	if m := systemError.FindStringSubmatch(why); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			return fmt.Errorf("%s: %w", m[1], syscall.Errno(n))
		}
	}
	return errors.New(strings.Join(strings.Fields(why), " "))
}
