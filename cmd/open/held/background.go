package held

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"evbench/internal/proc"
)

const upLine = "lab is up"

// An EndError says that the process in the background has ended, with its exit code and its output.
type EndError struct {
	Code int
	said string
}

func (e *EndError) Error() string { return e.said }

// Background starts this program again with arguments by which it calls KeepTree, in a session of
// its own, and copies its output until its lab is up. If ctx ends before, it is told to end.
func Background(ctx context.Context, out io.Writer, args ...string) error {
	holder := exec.Command("/proc/self/exe", args...)
	holder.Args[0] = os.Args[0]
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	printed, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	var complaint proc.Tail
	holder.Stderr = &complaint
	if err := holder.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = holder.Process.Signal(syscall.SIGTERM) })()
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		if strings.HasPrefix(lines.Text(), upLine) {
			return holder.Process.Release()
		}
	}
	err = holder.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &EndError{exit.ExitCode(), strings.TrimPrefix(complaint.String(), "evbench: ")}
	}
	return errors.Join(err, errors.New("the lab's process ended without a message"))
}
