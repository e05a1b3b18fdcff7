package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"evbench/internal/proc"
	"evbench/testing/expect"
)

// Work has a while to end by itself, and is then left behind.
func TestWithin(t *testing.T) {
	stopped, failed := errors.New("stopped"), errors.New("failed")
	for _, tt := range []struct {
		name             string
		stop, work, took time.Duration
		err, want        error
	}{
		{name: "done", stop: time.Hour, work: time.Minute, took: time.Minute},
		{"failed", time.Hour, time.Minute, time.Minute, failed, failed},
		{name: "ends after the signal", stop: time.Second, work: 3 * time.Second, took: 3 * time.Second},
		{"goes on", time.Second, time.Hour, 6 * time.Second, nil, stopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer time.AfterFunc(tt.stop, func() { cancel(stopped) }).Stop()
				began := time.Now()
				err := proc.Within(ctx, 5*time.Second, func() error { time.Sleep(tt.work); return tt.err })
				if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.took {
					t.Errorf("%v after %v, want %v after %v", err, took, tt.want, tt.took)
				}
				time.Sleep(tt.work) // what is left behind ends, too
			})
		})
	}
}

// A file that is being written when the signal comes is given up, not left half.
func TestWriter(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var b bytes.Buffer
	w := proc.Writer(ctx, &b)
	expect.Must(t, expect.Err(io.WriteString(w, "one")))
	cause := errors.New("stopped")
	cancel(cause)
	n, err := io.WriteString(w, "two")
	expect.True(t, n == 0 && errors.Is(err, cause) && b.String() == "one", "%d, %v: %q", n, err, b.String())
}
