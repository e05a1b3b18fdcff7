package expect

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// OwnMounts runs the test that calls it once more, as root of a user namespace with mounts of its own,
// and reports whether this is that run: only there may it mount.
func OwnMounts(t testing.TB) bool {
	t.Helper()
	const mark = "EVBENCH_TEST_MOUNTS"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	Must(t, err, "%s", out)
	return false
}
