package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/proc"
)

// An interrupted survey prints what is done, marked incomplete, and exits 130.
func TestWhatIfInterrupted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2"}, "INCOMPLETE"},
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2", "--json"}, `"incomplete":true`},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(proc.Signal{Sig: syscall.SIGINT})
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"evbench"}, c.args...), &stdout, &stderr)
		if code != exitInterrupted || !strings.Contains(stdout.String(), c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
		}
	}
}
