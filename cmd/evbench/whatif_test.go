package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/internal/interrupt"
)

// An interrupted survey prints what is done, marked incomplete, and exits 130.
func TestWhatIfInterrupted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2"}, "INCOMPLETE"},
		{[]string{"whatif", "-t", "FT(2;4,4)", "--k", "2", "--json"}, `"incomplete":true`},
		{[]string{"table", "planner", "--quick"}, "INCOMPLETE"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupt.Signal{Sig: syscall.SIGINT})
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"evbench"}, c.args...), &stdout, &stderr)
		if code != exitInterrupted || !strings.Contains(stdout.String(), c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
		}
	}
}

// Without a terminal progress is a line every ten seconds.
func TestSetProgress(t *testing.T) {
	var b bytes.Buffer
	start := time.Now()
	p := newSetProgress(&b, start.Add(-time.Second))
	p.update(1, 100)
	if b.Len() > 0 {
		t.Errorf("told too early: %q", b.String())
	}
	p = newSetProgress(&b, start.Add(-11*time.Second))
	p.update(50, 100)
	p.update(51, 100)
	if got := b.String(); !strings.HasPrefix(got, "50 of 100 sets, 5/s, about 11s left\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if got := rate(120, 2016, 2*time.Second); got != "120 of 2016 sets, 60/s, about 31.6s left" {
		t.Errorf("%q", got)
	}
}
