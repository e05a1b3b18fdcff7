// Package disktest has each call that changes a file fail in turn, as the tests of SQLite do.
package disktest

import (
	"syscall"
	"testing"

	"evbench/internal/disk"
)

// Each calls try with its first call of internal/disk failing, then with the second, until one does not come to the call
// that is to fail. After each, healed is called with no call failing; call names what failed, "write owner.json".
func Each(t testing.TB, try func() error, healed func(call string, err error)) {
	t.Helper()
	defer func() { disk.Fail = nil }()
	for n := 1; ; n++ {
		left, failed := n, ""
		disk.Fail = func(call, name string) error {
			if left--; left != 0 {
				return nil
			}
			failed = call + " " + name
			return syscall.ENOSPC
		}
		err := try()
		disk.Fail = nil
		if failed == "" {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			if n < 3 {
				t.Errorf("only %d calls go through internal/disk", n-1)
			}
			return
		}
		healed(failed, err)
	}
}
