package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"evbench/internal/expect"
	"evbench/internal/proc"
)

// The terminal may say more than once that it has gone. The test signals its own
// thread: such a signal has arrived when the call returns, and none can come
// after stop, when nothing catches it.
func TestNotifyHangUp(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := proc.Notify(t.Context())
	defer stop()
	for range 3 {
		expect.Must(t, syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGHUP))
		<-ctx.Done()
	}
	expect.Equal(t, exitCode(context.Cause(ctx), nil, io.Discard), exitHungUp, "exit code")
}
