package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Enter makes sure that this process may build labs. If it may not already, Enter runs this program
// again, with the same arguments, standard files and signals, as root of a user namespace of its
// own, and returns when that has ended: done is then true, and main exits with code. The error says
// why that is refused, and the cure. By Handed that program gets the given files of this one, such
// as a listener, which would be unreachable inside its namespace. Call Enter before anything that
// must not happen twice.
func Enter(files ...*os.File) (code int, done bool, err error) {
	f, mode := gatherFacts(), modeDirect
	inside := os.Getenv(marker) == markInside
	if inside {
		mode = modeUserNamespace
	}
	checks := probe(mode, f)
	switch {
	case allOK(checks) && inside:
		return 0, false, raiseLoopback()
	case allOK(checks):
		return 0, false, nil
	case inside:
		return 0, false, Report{Mode: modeRefused, Checks: checks}.err()
	}
	code, err = runInside(files...)
	if err != nil {
		checks = append(checks, check(checkUser, modeUserNamespace, err, f))
		return 0, false, Report{Mode: modeRefused, Checks: checks}.err()
	}
	return code, true, nil
}

// handed is the environment variable with the number of files that a process in a namespace has
// from its parent.
const handed = "EVBENCH_LAB_FILES"

const firstHanded = 3

// Handed returns the files from the process whose Enter has started this one, once: the caller owns
// them.
func Handed() []*os.File {
	n, _ := strconv.Atoi(os.Getenv(handed)) // 0 if it is not set
	_ = os.Unsetenv(handed)                 // not for child processes
	var files []*os.File
	for fd := firstHanded; fd < firstHanded+n; fd++ {
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), "handed"))
	}
	return files
}

// raiseLoopback sets up lo of the namespace that Enter has created for this process: controller and
// workers may talk over it.
func raiseLoopback() error {
	c, err := dial()
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	defer c.close()
	if err := c.setUp(loopback, true); err != nil {
		return fmt.Errorf("lab: set lo up: %w", err)
	}
	return nil
}

// again is this program with its arguments as root of a user namespace. The network namespace lets
// its threads return from those of a lab: they may not enter one of the host.
func again(ctx context.Context, mark string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), marker+"="+mark, Caller())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   unix.SIGKILL,
	}
	return cmd
}

func runInside(files ...*os.File) (code int, err error) {
	// The kernel sends the child its death signal when the thread that started it ends, not the
	// process: keep this thread until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)

	cmd := again(context.Background(), markInside)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = files
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", handed, len(files)))
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		forward(cmd.Process, signals, ended)
	}()
	err = cmd.Wait()
	close(ended)
	<-stopped

	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return exitCode(cmd.ProcessState), nil
}

// forward passes signals on until the child has ended. A terminal has sent its Ctrl-C to the child
// already; the child could take a second one as "at once".
func forward(p *os.Process, signals <-chan os.Signal, ended <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s == unix.SIGINT && inForeground() {
				continue
			}
			p.Signal(s) // an error means that it has ended already
		case <-ended:
			return
		}
	}
}

// inForeground reports whether the terminal sends its signals to the process group of this process,
// which includes the child.
func inForeground() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false // no terminal
	}
	defer unix.Close(fd)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(unix.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// caller is the environment variable that tells a process in the user namespace of a lab who has
// called evbench outside.
const caller = "EVBENCH_LAB_USER"

// initialUsers is the machine's own user namespace, whose number the kernel fixes (proc_ns.h).
const initialUsers = "user:[4026531837]"

// User names the user who has called evbench, for folders in which no other user's name is the
// same: by number and, in a user namespace other than the machine's, by the number of that. In the
// namespace that Enter has created it is the caller outside, and inside is true.
func User() (name string, inside bool) {
	space, _ := os.Readlink("/proc/self/ns/user")
	users, _ := os.ReadFile("/proc/self/uid_map")
	return user(os.Getuid(), space, string(users), os.Getenv(caller))
}

// user is User for a process with this number, user namespace, map of users and caller. A caller
// counts only where the map has that user alone: other namespaces inherit the variable.
func user(own int, space, users, told string) (name string, inside bool) {
	var first, outside, count int
	number, _, _ := strings.Cut(told, "-")
	if _, err := fmt.Sscan(users, &first, &outside, &count); err == nil && count == 1 && first == own && strconv.Itoa(outside) == number {
		return told, true
	}
	name = strconv.Itoa(own)
	if number, ok := strings.CutPrefix(space, "user:["); ok && space != initialUsers {
		name += "-" + strings.TrimSuffix(number, "]")
	}
	return name, false
}

// Caller is the environment by which a process that this one starts in the namespace of a lab knows
// the user.
func Caller() string {
	name, _ := User()
	return caller + "=" + name
}
