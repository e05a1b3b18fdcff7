package open

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
)

// TestAhead: the threads of this process get ahead, where that is allowed, and back.
func TestAhead(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, given()-1); err != nil {
		t.Skip("no process may raise its priority here:", err)
	}
	for _, by := range []int{3, 0} {
		ahead(by)
		for _, thread := range []int{os.Getpid(), unix.Gettid()} { // both are there all the time
			of20 := expect.Value(unix.Getpriority(unix.PRIO_PROCESS, thread))(t)
			expect.MustTrue(t, 20-of20 == given()-by, "niceness %d, given %d, ahead by %d", 20-of20, given(), by)
		}
	}
}
