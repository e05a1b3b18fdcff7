package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/testing/expect"
)

// A folder of a killed process is removed by the next one that makes a folder; none of a process that runs, of another user
// or machine, and nothing that only has the name of one.
func TestTempDir(t *testing.T) {
	dir, boot := t.TempDir(), Boot()
	expect.MustTrue(t, boot != "" && len(boot) <= 13, "the boot is %q", boot)
	names := map[string]bool{} // whether it stays
	put := func(name string, stays bool) {
		expect.Must(t, os.MkdirAll(filepath.Join(dir, name, "in"), 0o700))
		expect.Must(t, os.WriteFile(filepath.Join(dir, name, "token"), []byte("secret"), 0o600))
		expect.Must(t, os.WriteFile(filepath.Join(dir, name, tempLock), nil, 0o600))
		names[name] = stays
	}
	killed := tempPrefix + boot
	put(killed+"-1", false)
	put("evbench-x"+boot[1:]+"-1", true)            // of another machine
	put("evbench-1sbxa4s-n5c-2n9c-987654321", true) // of an older version, whose process nobody knows
	put("evbench-workers-123", true)                // older still
	put("x"+killed+"-1", true)                      // of somebody
	put(killed+"-beginning", true)                  // its process runs, and has no lock yet
	expect.Must(t, os.Remove(filepath.Join(dir, killed+"-beginning", tempLock)))
	elsewhere := filepath.Join(dir, "elsewhere")
	put("elsewhere", true)
	expect.Must(t, os.Symlink(elsewhere, filepath.Join(dir, killed+"-2")))
	expect.Must(t, os.WriteFile(filepath.Join(dir, killed+"-3"), nil, 0o600))
	put(killed+"-4", true)
	expect.Must(t, os.Chmod(filepath.Join(dir, killed+"-4"), 0o777)) // not made by TempDir

	there := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
	sweep(dir, boot, os.Geteuid()+1)
	expect.True(t, there(killed+"-1"), "the folder of another user is gone")
	expect.Must(t, os.Chmod(dir, 0o777))
	sweep(dir, boot, os.Geteuid())
	expect.True(t, there(killed+"-1"), "a folder is gone where others may replace it")
	expect.Must(t, os.Chmod(dir, 0o700))

	made := expect.Value(TempDir(dir))(t)
	again := expect.Value(TempDir(dir))(t)
	names[filepath.Base(made)], names[filepath.Base(again)] = true, true
	expect.Value(TempDir(dir))(t)
	for name, stays := range names {
		expect.True(t, there(name) == stays, "%s: there %v", name, !stays)
	}
	expect.True(t, there(killed+"-2") && there(killed+"-3") && there("elsewhere/token"), "what is no folder is gone, or what a link leads to")
	info := expect.Value(os.Stat(made))(t)
	expect.True(t, info.Mode().Perm() == 0o700 && made != again && strings.HasPrefix(filepath.Base(made), killed+"-"), "%s, %v", made, info.Mode())
}

// The folder of a process that is killed goes with the next one, and stays while the process runs.
func TestTempDirKilled(t *testing.T) {
	if dir := os.Getenv("EVBENCH_TEMP_OF"); dir != "" {
		expect.Value(TempDir(dir))(t)
		os.Stdout.WriteString("made\n")
		select {}
	}
	dir := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^TestTempDirKilled$")
	other.Env = append(os.Environ(), "EVBENCH_TEMP_OF="+dir)
	out := expect.Value(other.StdoutPipe())(t)
	expect.Must(t, other.Start())
	expect.Must(t, expect.Err(out.Read(make([]byte, 5))))
	expect.Value(TempDir(dir))(t)
	expect.Equal(t, len(expect.Value(os.ReadDir(dir))(t)), 2, "folders of two that run")
	expect.Must(t, other.Process.Signal(syscall.SIGKILL))
	other.Wait()
	expect.Value(TempDir(dir))(t)
	expect.Equal(t, len(expect.Value(os.ReadDir(dir))(t)), 2, "folders, both of this process")
	expect.Must(t, RemoveTemp(expect.Value(TempDir(dir))(t)))
	expect.Equal(t, len(expect.Value(os.ReadDir(dir))(t)), 2, "folders, one removed")
}
