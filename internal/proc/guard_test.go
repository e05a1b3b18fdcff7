package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"evbench/internal/expect"
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

// TestRunGuarded gives what the program gives, and nothing of it is left.
func TestRunGuarded(t *testing.T) {
	for text, want := range map[string]string{"exit 0": "", "exit 7": "exit status 7"} {
		cmd := exec.Command("sh", "-c", text)
		cmd.SysProcAttr = Group(0)
		if err := RunGuarded(cmd); err == nil != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := RunGuarded(exec.Command("/nowhere/program")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
