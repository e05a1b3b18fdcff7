package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// A token that others can read is told.
func TestTokenOthersRead(t *testing.T) {
	dir := t.TempDir()
	for mode, told := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o644: true} {
		token := filepath.Join(dir, mode.String())
		write(t, dir, mode.String(), "secret\n")
		expect.Must(t, os.Chmod(token, mode))
		_, _, said := call(t, "controller", "--token-file", token, "--listen", "nowhere", "x.yaml")
		expect.True(t, strings.Contains(said, "warning: "+token) == told && strings.Contains(said, "--listen"), "mode %v:\n%s", mode, said)
	}
}

// A folder for temporary files whose name is too long for a socket is no reason not to run.
func TestLongTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("x", 120))
	expect.Must(t, os.Mkdir(long, 0o700))
	write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(hostsScenario, "100ms"), "FT(2;4,2)", "FT(2;2,2)", 1))
	if code, out, said := sh(t, dir, "TMPDIR="+long+" evbench run --rounds 1 --quiet s.yaml -o out"); code != exitDone && code != exitInvalid {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	onlyThese(t, long)
	code, _, said := call(t, "controller", "--token-file", filepath.Join(dir, "s.yaml"), "--listen", "unix:"+filepath.Join(long, "control"), filepath.Join(dir, "s.yaml"))
	expect.True(t, code == exitUsage && strings.Contains(said, "107"), "exit %d: %s", code, said)
}
