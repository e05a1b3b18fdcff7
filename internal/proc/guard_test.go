package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evbench/testing/expect"
)

// leads has this program run a script, which TestGuard gives it, and nothing else.
const leads = "EVBENCH_TEST_LEADS"

func TestMain(m *testing.M) {
	text := os.Getenv(leads)
	if text == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("sh", "-c", text)
	cmd.SysProcAttr = Group(0)
	cmd.Stdout = os.Stdout
	if err := RunGuarded(cmd); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

// TestGuard kills who has started a script, as the kernel does that runs out of memory: what the
// script has started ends, too. All hold the end of a pipe.
func TestGuard(t *testing.T) {
	for name, child := range map[string]string{
		"ends": "sleep 1000",
		"told": `sh -c "trap 'echo told; exit' TERM; echo ready; while :; do sleep 1; done"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out, err := os.Pipe()
			expect.Must(t, err)
			defer in.Close()
			expect.Must(t, in.SetReadDeadline(time.Now().Add(time.Minute)))
			self := exec.Command("/proc/self/exe")
			self.Env = append(os.Environ(), leads+"="+child+" & "+child+" & echo up; wait")
			self.Stdout = out
			expect.Must(t, errors.Join(self.Start(), out.Close()))
			var said bytes.Buffer
			want := 1 // lines until all is up
			if name == "told" {
				want = 3
			}
			for b := make([]byte, 1); strings.Count(said.String(), "\n") < want; {
				if _, err := in.Read(b); err != nil {
					t.Fatalf("%v after %q", err, said.String())
				}
				said.Write(b)
			}
			expect.Must(t, self.Process.Kill())
			_ = self.Wait()
			rest, err := io.ReadAll(in) // until none has it any more
			expect.True(t, err == nil && strings.Count(string(rest), "told") == strings.Count(name, "told")*2, "%q, %v", rest, err)
		})
	}
}

// TestGuardEarly kills the program at any moment after the start of the script: the script is told
// to end, or has not begun.
func TestGuardEarly(t *testing.T) {
	for range 20 {
		in, out, err := os.Pipe()
		expect.Must(t, err)
		expect.Must(t, in.SetReadDeadline(time.Now().Add(time.Minute)))
		self := exec.Command("/proc/self/exe")
		self.Env = append(os.Environ(), leads+"=kill -KILL $PPID; sleep 1000 & wait")
		self.Stdout = out
		expect.Must(t, errors.Join(self.Start(), out.Close()))
		_ = self.Wait()
		_, err = io.ReadAll(in)
		expect.Must(t, err) // nothing has the pipe any more
		in.Close()
	}
}

// TestRunGuarded gives what the program gives, and nothing of it is left.
func TestRunGuarded(t *testing.T) {
	for text, want := range map[string]string{"exit 0": "", "exit 7": "exit status 7"} {
		cmd := exec.Command("sh", "-c", text)
		cmd.SysProcAttr = Group(0)
		if err := RunGuarded(cmd); err == nil != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	expect.Is(t, RunGuarded(exec.Command("/nowhere/program")), os.ErrNotExist)
}

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		script, out, err string
		group            bool
	}{
		{"printf 12345678", "12345678", "", false},
		{"printf 123456789", "", "sh prints more than 8 bytes", false},
		{"exec yes", "", "sh prints more than 8 bytes", false},
		{"trap '' PIPE TERM; while :; do echo y; done 2>&-", "", "sh prints more than 8 bytes", false}, // hears nothing
		{"trap '' PIPE; (while :; do echo y; done) 2>&-", "", "sh prints more than 8 bytes", true},
		{"echo 1; echo sorry >&2; exit 3", "1\n", "sh: exit status 3: sorry", false},
		{"exit 3", "", "sh: exit status 3", false},
		{"yes | head -c 1000000 >&2; printf 1; echo end >&2", "1", "", false},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", c.script)
		if c.group {
			cmd.SysProcAttr = Group(syscall.SIGKILL)
		}
		out, err := Output(cmd, 8)
		expect.False(t, string(out) != c.out || c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err),
			"%s: %q, %v", c.script, out, err)
	}
	if _, err := Output(exec.Command("no-such-program"), 8); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "no-such-program: ") {
		t.Error(err)
	}
}

// An answer has a limit, and the end of ctx is one: all that the command has started ends with it, which
// the end of a pipe shows that they hold.
func TestAnswer(t *testing.T) {
	told := errors.New("told to")
	for name, c := range map[string]struct {
		limit time.Duration
		want  string
	}{"limit": {time.Millisecond, "sh: not within 1ms"}, "told": {time.Hour, "told to"}, "no limit": {0, "told to"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		pipe := filepath.Join(t.TempDir(), "pipe")
		expect.Must(t, syscall.Mkfifo(pipe, 0o600))
		in := expect.Value(os.OpenFile(pipe, os.O_RDWR, 0))(t)
		if name == "limit" {
			cancel = func(error) {}
		}
		go func() {
			_, _ = in.Read(make([]byte, 3)) // the command has begun, or is killed before
			cancel(told)
		}()
		_, err := Call{Limit: c.limit, Most: 8}.Answer(ctx, "sh", "-c", "exec 3>'"+pipe+"'; sleep 1000 & echo up >&3; sleep 1000")
		expect.True(t, err != nil && err.Error() == c.want, "%s: %v", name, err)
		reader := expect.Value(os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
		_ = in.Close()
		expect.Must(t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
		expect.Must(t, expect.Err(io.ReadAll(reader)), "%s: something still has the pipe", name)
		reader.Close()
	}
	out, err := Call{Limit: time.Hour, Most: 8, In: "in"}.Answer(t.Context(), "sh", "-c", "cat; sleep 1000 & exit 0")
	expect.True(t, err == nil && string(out) == "in", "%q, %v", out, err)
	_, err = Call{Most: 8}.Answer(t.Context(), "sh", "-c", "echo sorry >&2; exit 3")
	expect.Error(t, err, "sh: exit status 3: sorry")
	_, err = Call{Most: 8}.Answer(t.Context(), "no-such-program")
	expect.Is(t, err, exec.ErrNotFound)
}

// A Tail has the end of what is written, at once or in parts, by one or several.
func TestTail(t *testing.T) {
	var one, parts, several Tail
	text := strings.Repeat("0123456789\n", maxSaid)
	one.Write([]byte(text + "\xff\n"))
	for i := 0; i < len(text); i += 7 {
		parts.Write([]byte(text[i:min(i+7, len(text))]))
	}
	if s := one.String(); !strings.HasSuffix(s, "89\n?") || len(s) > maxSaid {
		t.Errorf("%d bytes, ending with %q", len(s), s[len(s)-9:])
	}
	if s := parts.String(); !strings.HasSuffix(text, s+"\n") || len(s) != maxSaid-1 {
		t.Errorf("%d bytes, ending with %q", len(s), s[len(s)-9:])
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				several.Write([]byte("ab"))
			}
		})
	}
	all.Wait()
	s := several.String()
	expect.True(t, s == strings.Repeat("ab", 400), "%d bytes", len(s))
}
