package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Output runs a command to its end and returns its output, like exec.Cmd.Output. It kills a command
// that prints more than most bytes, with its process group if it has its own. An error begins with
// the name of the command and ends with its standard error, unless that goes elsewhere.
func Output(cmd *exec.Cmd, most int) ([]byte, error) {
	var said Tail
	var much error
	out := &Buffer{Most: most, Over: func(err error) { much = err; kill(cmd) }}
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	err := Run(cmd, out)
	switch text := said.String(); {
	case much != nil:
		return nil, fmt.Errorf("%s %w", cmd.Args[0], much)
	case err != nil && text != "":
		err = fmt.Errorf("%s: %w: %s", cmd.Args[0], err, text)
	case err != nil:
		err = fmt.Errorf("%s: %w", cmd.Args[0], err)
	}
	return out.text.Bytes(), err
}

// Run is cmd.Run with output to out. Where something that the command has left holds the pipe, exec would close it after WaitDelay, whether
// or not a busy machine has let this program read what the command itself has written.
func Run(cmd *exec.Cmd, out io.Writer) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	cmd.Stdout = to
	err = cmd.Start()
	_ = to.Close()
	if err != nil {
		return err
	}
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(out, from) })
	switch err = cmd.Wait(); {
	case errors.Is(err, exec.ErrWaitDelay): // it has waited that long
		_ = from.SetReadDeadline(time.Now())
	case cmd.WaitDelay > 0:
		_ = from.SetReadDeadline(time.Now().Add(cmd.WaitDelay))
	}
	read.Wait()
	_ = from.SetReadDeadline(time.Time{})
	rest(from, out)
	return err
}

// rest writes what is in a pipe, and waits for no more.
func rest(from *os.File, out io.Writer) {
	pipe, err := from.SyscallConn()
	if err != nil {
		return
	}
	var b [4096]byte
	_ = pipe.Read(func(fd uintptr) bool {
		for n, err := 1, error(nil); n > 0 && err == nil || err == syscall.EINTR; {
			if n, err = syscall.Read(int(fd), b[:]); n > 0 {
				_, err = out.Write(b[:n])
			}
		}
		return true
	})
}

// A Call is a command whose answer is needed.
type Call struct {
	Limit time.Duration // how long it may take; 0: until ctx ends
	Most  int           // bytes of output
	In    string        // standard input
}

// drainAfter is how long to wait for output after the end of a command that has left child processes
// with the same standard output.
const drainAfter = time.Second

// Answer runs a command to its end, and returns its output as Output does. The command leads a
// process group: a Ctrl-C at the terminal is for this program. At its end, at the limit and when ctx
// ends the whole group is killed; the error is then the limit, or the cause of ctx. The command also
// dies with this program.
func (c Call) Answer(ctx context.Context, name string, args ...string) ([]byte, error) {
	limited := ctx
	if c.Limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("%s: not within %s", name, c.Limit))
		defer cancel()
	}
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(c.In), drainAfter
	cmd.SysProcAttr = Group(syscall.SIGKILL)
	cmd.Cancel = func() error { kill(cmd); return nil }
	// It would die with the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := Output(cmd, c.Most)
	if cmd.Process != nil {
		kill(cmd) // what it has left
	}
	switch {
	case limited.Err() != nil && err != nil:
		return nil, context.Cause(limited)
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil
	}
	return out, err
}

func kill(cmd *exec.Cmd) {
	if a := cmd.SysProcAttr; a != nil && a.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	}
	_ = cmd.Process.Kill()
}

// A Buffer keeps the output of one program, at most Most bytes. Beyond that it calls Over once with
// an error, and Write fails.
type Buffer struct {
	Most int
	Over func(error)
	text bytes.Buffer
	much error
}

func (b *Buffer) Write(p []byte) (int, error) {
	if b.much == nil && b.text.Len()+len(p) > b.Most {
		b.much = fmt.Errorf("prints more than %d bytes", b.Most)
		b.Over(b.much)
	}
	if b.much != nil {
		return 0, b.much
	}
	return b.text.Write(p)
}

func (b *Buffer) String() string { return b.text.String() }

const maxSaid = 8 << 10

// A Tail keeps the end of programs' output, for messages. Several may write to it.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer, and never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxSaid):]...)
	if over := len(t.text) - maxSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// String returns it in UTF-8, without white space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(bytes.ToValidUTF8(t.text, []byte("?"))))
}

// guard waits for the end of its input. If the end comes before a second line, this program was
// killed: guard ends the process group in the first line, and gives it 15 s.
const guard = `read -r group || exit
read -r over && exit
kill -TERM "-$group"
n=0
while [ $n -lt 15 ] && kill -0 "-$group"; do sleep 1; n=$((n + 1)); done
kill -KILL "-$group"`

// announce reports its process group to the guard before it becomes the program: this program can
// be killed at any moment after starting the other.
const announce = `echo $$ >&3 && exec 3>&- "$0" "$@"`

// RunGuarded runs a program that leads a process group, as by Group, and has no extra files. If
// this program is killed meanwhile, the whole group is ended: the program may be a script, and a
// signal to the script alone leaves its child processes running.
func RunGuarded(cmd *exec.Cmd) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if _, err := exec.LookPath(cmd.Path); err != nil && cmd.Err == nil {
		return err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer to.Close()
	g := exec.Command(sh, "-c", guard)
	g.SysProcAttr, g.Stdin = Group(0), from
	err = g.Start()
	from.Close()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	cmd.Args = append([]string{"sh", "-c", announce, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = sh, []*os.File{to}
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
		fmt.Fprintln(to, "over")
	}
	to.Close()
	_ = g.Wait()
	return err
}
