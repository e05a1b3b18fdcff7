package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/expect"
	"evbench/internal/proc"
)

// call runs a command within this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"evbench"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// bystander starts a process that has nothing to do with evbench. It must be there still
// at the end.
func bystander(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	in := expect.Value(cmd.StdinPipe())(t)
	expect.Must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		expect.OK(t, cmd.Wait(), "%s, which is not ours", name)
	})
	return cmd.Process.Pid
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
}

const nobody = 65534

// What is no state file of ours is neither believed nor overwritten, and no process is
// signalled that it names.
func TestLabStateOfOthers(t *testing.T) {
	pid := bystander(t, "cat")
	forged := fmt.Sprintf(`{"pid":%d,"nodes":{},"text":"x"}`, pid)
	ours := fmt.Sprintf(`{"pid":%d,"start":1,"exe":"1:1","nodes":{},"text":"x"}`+"\n", pid)
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, dir, file string) error
		up    bool // is refused, too
		want  string
	}{
		{"another process", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte(forged+"\n"), 0o600) }, false, "start"},
		{"a group", func(_ *testing.T, _, file string) error {
			return os.WriteFile(file, []byte(strings.Replace(forged, ":", ":-", 1)+"\n"), 0o600)
		}, false, "pid"},
		{"a number used again", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte(ours+"\n"), 0o600) }, false, "no lab is up"},
		{"nonsense", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte("dear friend\n"), 0o600) }, false, "evbench-lab.json"},
		{"a link", func(_ *testing.T, dir, file string) error { return os.Symlink(filepath.Join(dir, "victim"), file) }, true, "is a link"},
		{"a second name", func(_ *testing.T, dir, file string) error { return os.Link(filepath.Join(dir, "victim"), file) }, true, "2 names"},
		{"all may write", func(_ *testing.T, _, file string) error {
			return errors.Join(os.WriteFile(file, []byte(ours+"\n"), 0o600), os.Chmod(file, 0o666))
		}, true, "others may write"},
		{"of nobody", func(t *testing.T, _, file string) error {
			asRoot(t)
			return errors.Join(os.WriteFile(file, []byte(ours+"\n"), 0o600), os.Chown(file, nobody, -1))
		}, true, "belongs to user 65534"},
		{"folder of nobody", func(t *testing.T, _, file string) error {
			asRoot(t)
			return os.Chown(filepath.Dir(file), nobody, -1)
		}, true, "belongs to user 65534"},
		{"folder that all may write", func(_ *testing.T, _, file string) error { return os.Chmod(filepath.Dir(file), 0o777) }, true, "others may write"},
		{"folder is a link", func(_ *testing.T, dir, file string) error {
			other := filepath.Join(dir, "other")
			return errors.Join(os.Remove(filepath.Dir(file)), os.Mkdir(other, 0o700), os.Symlink(other, filepath.Dir(file)))
		}, true, "is a link"},
		{"a pipe", func(_ *testing.T, _, file string) error { return syscall.Mkfifo(file, 0o600) }, true, "is not a file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Setenv("XDG_RUNTIME_DIR", "")
			file := filepath.Join(dir, fmt.Sprintf("evbench-%d", os.Getuid()), "evbench-lab.json")
			write(t, dir, "victim", "precious")
			expect.Must(t, errors.Join(os.Mkdir(filepath.Dir(file), 0o700), tt.plant(t, dir, file)))
			calls := [][]string{{"lab", "down"}, {"lab", "exec", "leaf0", "true"}}
			if tt.up {
				calls = append(calls, []string{"lab", "up", "-t", "FT(2;2,2)"}, []string{"lab", "up", "-t", "FT(2;2,2)", "--foreground"})
			}
			for _, args := range calls {
				code, out, said := call(t, args...)
				expect.True(t, code == exitUsage && strings.Contains(said, tt.want), "%v: exit %d, want %q in:\n%s%s", args, code, tt.want, out, said)
			}
			b, err := os.ReadFile(filepath.Join(dir, "victim"))
			expect.True(t, err == nil && string(b) == "precious", "the victim holds %q, %v", b, err)
		})
	}
}

// Of two that build a lab at once one does, and the other is told so.
func TestTwoLabsAtOnce(t *testing.T) {
	dir := t.TempDir()
	type ended struct {
		code int
		said string
	}
	both := make(chan ended, 2)
	for range 2 {
		go func() {
			code, out, said := output(t, dir, "lab", "up", "-t", "FT(2;2,2)")
			both <- ended{code, out + said}
		}()
	}
	one, other := <-both, <-both
	if one.code != exitDone {
		one, other = other, one
	}
	expect.True(t, one.code == exitDone && other.code == exitUsage && strings.Contains(other.said, "a lab is "),
		"ended with %d and %d:\n%s%s", one.code, other.code, one.said, other.said)
	b := expect.Value(os.ReadFile(filepath.Join(dir, "evbench-lab.json")))(t)
	var h struct{ PID int }
	expect.Must(t, json.NewDecoder(bytes.NewReader(b)).Decode(&h))
	if code, out, said := output(t, dir, "lab", "down"); code != exitDone {
		t.Errorf("down ended with %d:\n%s%s", code, out, said)
	}
	awaitEnd(t, h.PID)
	onlyThese(t, dir)
}

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
