package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// A folder of a killed process is removed by the next one that makes a folder; none of a process that
// runs, of another user or namespace, and nothing that only has the name of one.
func TestTempDir(t *testing.T) {
	dir := t.TempDir()
	dead := exec.Command("true")
	expect.Must(t, dead.Run())
	space := expect.Value(processSpace())(t)
	own := expect.Value(Self())(t)
	names := map[string]bool{} // whether it stays
	put := func(name string, stays bool) {
		expect.Must(t, os.MkdirAll(filepath.Join(dir, name, "in"), 0o700))
		expect.Must(t, os.WriteFile(filepath.Join(dir, name, "token"), []byte("secret"), 0o600))
		names[name] = stays
	}
	killed := marker(space, dead.ProcessState.Pid(), 7)
	put(killed+"-1", false)
	put(marker(space, own.PID, own.Start)+"-1", true)
	put(marker(space, own.PID, own.Start+1)+"-1", false) // its number has another process now
	put(marker(space+1, dead.ProcessState.Pid(), 7)+"-1", true)
	put("evbench-workers-123", true) // of an old version
	put(killed+"-of-somebody", true)
	put("x"+killed+"-1", true)
	elsewhere := filepath.Join(dir, "elsewhere")
	put("elsewhere", true)
	expect.Must(t, os.Symlink(elsewhere, filepath.Join(dir, killed+"-2")))
	expect.Must(t, os.WriteFile(filepath.Join(dir, killed+"-3"), nil, 0o600))
	put(killed+"-4", true)
	expect.Must(t, os.Chmod(filepath.Join(dir, killed+"-4"), 0o777)) // not made by TempDir

	there := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
	sweep(dir, space, os.Geteuid()+1)
	expect.True(t, there(killed+"-1"), "the folder of another user is gone")
	expect.Must(t, os.Chmod(dir, 0o777))
	sweep(dir, space, os.Geteuid())
	expect.True(t, there(killed+"-1"), "a folder is gone where others may replace it")
	expect.Must(t, os.Chmod(dir, 0o700))

	made := expect.Value(TempDir(dir))(t)
	again := expect.Value(TempDir(dir))(t)
	for name, stays := range names {
		expect.True(t, there(name) == stays, "%s: there %v", name, !stays)
	}
	expect.True(t, there(killed+"-2") && there(killed+"-3") && there("elsewhere/token"), "what is no folder is gone, or what a link leads to")
	info := expect.Value(os.Stat(made))(t)
	expect.True(t, info.Mode().Perm() == 0o700 && made != again && strings.HasPrefix(filepath.Base(made), tempPrefix), "%s, %v", made, info.Mode())
	expect.False(t, ofKilled(filepath.Base(made), space), "%s: its process runs", made)
}
