package proc

import (
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

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
		if string(out) != c.out || c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: %q, %v", c.script, out, err)
		}
	}
	if _, err := Output(exec.Command("no-such-program"), 8); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "no-such-program: ") {
		t.Error(err)
	}
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
	if s := several.String(); s != strings.Repeat("ab", 400) {
		t.Errorf("%d bytes", len(s))
	}
}
