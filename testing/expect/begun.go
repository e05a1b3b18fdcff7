package expect

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Begun waits until a process that was started has its name and its arguments: exec.Cmd.Start returns when the kernel has
// closed files for the new program, and that comes first.
func Begun(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(line) > 0 {
			return
		}
	}
	t.Fatalf("process %d has ended, or does not begin", pid)
}
