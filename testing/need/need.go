// Package need says what a test needs that a machine may lack. What is missing is named, and its test skipped, so that
// go test ./... passes on any Linux; the gate, which has scripts/setup install everything, sets EVBENCH_REQUIRED, and there
// what is missing fails the test: no skip hides it.
package need

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The environment variables: parts that are left out, with commas or blanks between them, and whether all others are required.
const (
	without  = "EVBENCH_WITHOUT"
	required = "EVBENCH_REQUIRED"
)

// leftOut reports whether names, as of EVBENCH_WITHOUT, has a part.
func leftOut(names, part string) bool {
	return slices.Contains(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }), part)
}

// leave skips the test if EVBENCH_WITHOUT leaves out its part, one of those of scripts/setup.
func leave(t testing.TB, part string) {
	t.Helper()
	if leftOut(os.Getenv(without), part) {
		t.Skipf("need: %s names %s", without, part)
	}
}

// Missing ends a test whose part lacks something: it is skipped, where all is required it fails.
func Missing(t testing.TB, part, what string) {
	t.Helper()
	leave(t, part)
	said := fmt.Sprintf("need: %s is missing: %s (scripts/setup installs what the gate needs)", part, what)
	if os.Getenv(required) != "" {
		t.Fatal(said)
	}
	t.Skip(said)
}

// Programs returns the paths of programs, all of a part. They may stand where not every user's PATH leads.
func Programs(t testing.TB, part string, names ...string) []string {
	t.Helper()
	leave(t, part)
	var paths, gone []string
	for _, name := range names {
		path, err := Find(name)
		if err != nil {
			gone = append(gone, name)
		}
		paths = append(paths, path)
	}
	if gone != nil {
		Missing(t, part, strings.Join(gone, ", "))
	}
	return paths
}

// Find returns the absolute path of a program, in PATH or among those of the system.
func Find(name string) (string, error) {
	for _, place := range []string{"", "/usr/sbin/", "/usr/local/sbin/"} {
		if path, err := exec.LookPath(place + name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("no %s: %w", name, exec.ErrNotFound)
}

// HeavySaid begins what a test says that Heavy skips.
const HeavySaid = "need: heavy"

// Heavy is for a test that takes so long that go test ./... leaves it to the gate.
func Heavy(t testing.TB) {
	t.Helper()
	if !TakesHeavy() {
		t.Skip(HeavySaid + ": the gate runs it, and so do -run NAME and EVBENCH_ALL=1")
	}
}

// TakesHeavy reports whether heavy tests run: also those that go test -run names.
func TakesHeavy() bool {
	named := flag.Lookup("test.run")
	return os.Getenv(required) != "" || os.Getenv("EVBENCH_ALL") != "" || named != nil && named.Value.String() != ""
}

// Optional skips a test for what even the gate may lack: cases beside the checkout, root. The gate names it at its end.
func Optional(t testing.TB, what string) {
	t.Helper()
	t.Skip("need: optional, and not here: " + what)
}

// Cases returns the absolute path of what ../shared/cases has by a name, beside the checkout; without it the test is skipped.
// root is the way from the test's folder to that of the checkout.
func Cases(t testing.TB, root, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "../shared/cases", name))
	if _, gone := os.Stat(path); err != nil || gone != nil {
		Optional(t, "../shared/cases/"+name)
	}
	return path
}

// namespaces is why this system refuses a network namespace to a program, root of a user namespace of its own where it is not root.
var namespaces = sync.OnceValue(func() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if cmd.Run() == nil {
		return nil
	}
	cmd = exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	return cmd.Run()
})

// Namespaces is for tests that build labs: evbench lab doctor says why none can be built.
func Namespaces(t testing.TB) {
	t.Helper()
	leave(t, "lab")
	if err := namespaces(); err != nil {
		Missing(t, "lab", err.Error())
	}
}

// Lab reports whether a script may build a lab: where all is required it has to.
func Lab() bool {
	return !leftOut(os.Getenv(without), "lab") && (os.Getenv(required) != "" || namespaces() == nil)
}

// Main is Namespaces for the TestMain of a package all of whose tests are in a lab that cannot be built: it returns the exit code.
func Main(err error) int {
	fmt.Fprintln(os.Stderr, "need: lab is missing:", err)
	if os.Getenv(required) != "" {
		return 1
	}
	return 0
}
