package netfile_test

import (
	"testing"

	"evbench/site/netfile"
	"evbench/testing/expect"
)

// TestDevice: a device is no network, and no notation.
func TestDevice(t *testing.T) {
	_, err := netfile.Read("/dev/zero", 0)
	expect.Error(t, err, "/dev/zero: this is a device, not a file or a pipe")
}
