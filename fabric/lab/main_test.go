package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// testMode tells a process that a test has started what to do.
const testMode = "EVBENCH_LAB_TEST"

// TestMain runs the tests as root of a user namespace where the user is not
// root already, and plays the parts that tests start as processes.
func TestMain(m *testing.M) {
	if Helper() {
		return
	}
	if mode := os.Getenv(testMode); mode != "" {
		os.Exit(play(mode))
	}
	code, done, err := Enter()
	switch {
	case err != nil:
		os.Exit(need.Main(err))
	case done:
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// itself is this program in another part. The race detector would keep it for a second at its end.
func itself(mode string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	// Rootless parts enter a user namespace of their own even where these tests are in one: the
	// limits that they lower are that namespace's.
	cmd.Env = append(os.Environ(), testMode+"="+mode, marker+"=", "GORACE=atexit_sleep_ms=0")
	return cmd
}

func play(mode string) int {
	inside, rest := strings.CutPrefix(mode, "rootless ")
	if rest && os.Getenv(marker) != markInside {
		// As Enter does where namespaces are refused directly.
		var files []*os.File
		if inside == "greet" {
			files = append(files, os.NewFile(firstHanded, "of the test"))
		}
		code, err := runInside(files...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}
	switch inside {
	case "hold":
		return hold()
	case "refused":
		return refused()
	case "exit":
		return 7
	case "namespace":
		name, err := os.Readlink("/proc/self/ns/net")
		fmt.Println(name, err)
		return 0
	case "greet":
		return greet()
	case "hang":
		fmt.Println("started")
		io.Copy(io.Discard, os.Stdin)
		return 0
	}
	return 99
}

// greet greets one who connects to the listener that it was handed.
func greet() int {
	files := Handed()
	if len(files) != 1 || len(Handed()) > 0 {
		return 1
	}
	if flags, err := unix.FcntlInt(files[0].Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		return 2 // programs that are started would have it, too
	}
	l, err := net.FileListener(files[0])
	if err != nil {
		return 3
	}
	c, err := l.Accept()
	if err != nil {
		return 4
	}
	fmt.Fprint(c, namespaceName("/proc/self/ns/net"))
	return 0
}

// Who is outside reaches a program in a namespace by the listener that it was handed.
func TestHanded(t *testing.T) {
	l := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	f := expect.Value(l.(*net.TCPListener).File())(t)
	cmd := itself("rootless greet")
	cmd.Env = append(cmd.Env, marker+"=") // also where the tests are inside already
	cmd.ExtraFiles, cmd.Stderr = []*os.File{f}, os.Stderr
	if err := errors.Join(cmd.Start(), l.Close(), f.Close()); err != nil { // now only the program has it
		t.Fatal(err)
	}
	c := expect.Value(net.Dial("tcp", l.Addr().String()))(t)
	defer c.Close()
	text, err := io.ReadAll(c)
	name := string(text)
	expect.True(t, err == nil && strings.HasPrefix(name, "net:[") && name != namespaceName("/proc/self/ns/net"),
		"greeted with %q, %v, want another namespace than the own", text, err)
	expect.OK(t, cmd.Wait())
}

// refused calls Enter in a user namespace in which nobody may create another
// namespace, as a user who has not entered one would.
func refused() int {
	for _, knob := range []string{"max_net_namespaces", "max_user_namespaces"} {
		if err := os.WriteFile("/proc/sys/user/"+knob, []byte("0"), 0); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	os.Unsetenv(marker)
	_, done, err := Enter()
	fmt.Println(done, err)
	return 0
}

// hold builds a lab, says so, and closes it on SIGINT.
func hold() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tree, err := topology.New(topology.Options{Ports: 2, Leaves: 2})
	if err != nil {
		return 1
	}
	l, err := Start(ctx, Options{Tree: tree, Rate: 1e9})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(os.Getpid(), l.nodes[len(l.nodes)-1].fd)
	for _, ns := range l.nodes {
		fmt.Println(namespaceName(fmt.Sprintf("/proc/self/fd/%d", ns.fd)))
	}
	fmt.Println("ready")
	<-ctx.Done()
	if err := l.Close(); err != nil {
		return 1
	}
	return 130
}

func namespaceName(path string) string {
	name, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return name
}

// A holder is a process that holds a lab.
type holder struct {
	cmd   *exec.Cmd
	pid   int // of the process inside, where that is another
	fd    int // of one namespace
	names []string
}

func startHolder(t *testing.T, mode string) *holder {
	t.Helper()
	cmd := itself(mode)
	cmd.Stderr = os.Stderr
	// Without a terminal, as under a service manager: signals reach only the process that they are sent to.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.Must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	h := &holder{cmd: cmd}
	r := bufio.NewScanner(out)
	for r.Scan() && r.Text() != "ready" {
		if h.pid == 0 {
			expect.Must(t, expect.Err(fmt.Sscan(r.Text(), &h.pid, &h.fd)))
			continue
		}
		h.names = append(h.names, r.Text())
	}
	expect.MustTrue(t, len(h.names) == 8, "%s holds %d namespaces, want 8", mode, len(h.names))
	return h
}

// A canary is a veth pair between a namespace of the test and one of a lab. The
// kernel takes it away when the lab's namespace is gone.
type canary struct {
	lab *Lab // the test's namespace, as a lab of nothing
	sub *subscription
}

const canaryIndex = 77

func newCanary(t *testing.T, pid, fd int) *canary {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	ns := expect.Value(unix.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(ns)
	home, err := openNamespace()
	expect.Must(t, err)
	c := &canary{lab: &Lab{layout: &layout{names: []string{"canary"}}, home: home, nodes: []namespace{{fd: -1}}}}
	t.Cleanup(func() { c.lab.Close() })
	expect.Must(t, onThread(home, func() (err error) {
		own := &c.lab.nodes[0]
		if err := unshare(); err != nil {
			return err
		}
		if own.fd, err = openNamespace(); err != nil {
			return err
		}
		own.conn, err = dial()
		return err
	}))
	if c.sub, err = c.lab.subscribe(ctx, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.sub.close)
	w := cable{times: 1, ends: [2]end{
		{name: "canary", index: canaryIndex, mac: mac(1, 0)},
		{name: "canary", index: canaryIndex + 1, mac: mac(1, 1)},
	}}
	expect.Must(t, c.lab.nodes[0].addCable(w, ns, 1500, newShape(0, 0)))
	return c
}

// gone waits until the kernel has deleted the canary.
func (c *canary) gone(t *testing.T) {
	t.Helper()
	for {
		messages, _, err := c.sub.socket.Receive()
		expect.MustTrue(t, err == nil, "the lab's namespace is still there: %v", err)
		if slices.ContainsFunc(messages, func(m syscall.NetlinkMessage) bool { return m.Header.Type == unix.RTM_DELLINK }) {
			return
		}
	}
}

// references returns where in /proc a namespace of the list is still held.
func references(t *testing.T, names []string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/proc/[0-9]*/task/[0-9]*/ns/net", "/proc/[0-9]*/fd/[0-9]*"} {
		paths := expect.Value(filepath.Glob(pattern))(t)
		for _, p := range paths {
			if slices.Contains(names, namespaceName(p)) {
				found = append(found, p)
			}
		}
	}
	return found
}

// processes returns the processes of paths in /proc.
func processes(paths []string) map[string]bool {
	out := map[string]bool{}
	for _, p := range paths {
		out[processOf(p)] = true
	}
	return out
}

// processOf returns the process of one path, "/proc/<process>/…".
func processOf(path string) string { return strings.Split(path, "/")[2] }

func TestNothingStays(t *testing.T) {
	for _, test := range []struct {
		name, mode string
		signal     os.Signal
		code       int // -1: killed
	}{
		{"interrupted", "hold", unix.SIGINT, 130},
		{"killed", "hold", unix.SIGKILL, -1},
		{"rootless, interrupted", "rootless hold", unix.SIGINT, 130},
		{"rootless, killed", "rootless hold", unix.SIGKILL, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := startHolder(t, test.mode)
			holders := processes(references(t, h.names))
			expect.MustTrue(t, len(holders) != 0, "the search does not find the lab while it runs")
			c := newCanary(t, h.pid, h.fd)
			process := expect.Value(unix.PidfdOpen(h.pid, 0))(t)
			defer unix.Close(process)
			expect.Must(t, h.cmd.Process.Signal(test.signal))
			err := h.cmd.Wait()
			if code := h.cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d (%v), want %d", code, err, test.code)
			}
			c.gone(t)
			// The kernel gives the numbers of namespaces that are gone to new ones,
			// those of labs of other tests perhaps: only who held them before counts.
			left := slices.DeleteFunc(references(t, h.names), func(p string) bool { return !holders[processOf(p)] })
			expect.True(t, len(left) == 0, "still there: %v", left)
			ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
			n, err := unix.Poll(ended, 60_000) // files and namespaces are gone a moment before
			for errors.Is(err, unix.EINTR) {
				n, err = unix.Poll(ended, 60_000)
			}
			expect.True(t, n == 1 && err == nil, "process %d still runs (%v)", h.pid, err)
		})
	}
}

func TestExitCode(t *testing.T) {
	cmd := itself("rootless exit")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("exit code %d (%v), want the inner program's 7", cmd.ProcessState.ExitCode(), err)
	}
}

func TestDoctor(t *testing.T) {
	r := Doctor()
	expect.True(t, r.Possible() && r.err() == nil, "a lab can run here, or this test would not, but:\n%s", r)
	n := len(r.Checks)
	expect.True(t, n == 11, "%d checks, want 5 directly, 1 for the user namespace and 5 in it:\n%s", n, r)
}

func TestEnterRefused(t *testing.T) {
	out := expect.Value(itself("rootless refused").Output())(t)
	const want = "false lab: this system refuses what it needs: " +
		"direct: create a network namespace: no space left on device (cure: sysctl -w user.max_net_namespaces=15000 (now 0)); " +
		"user namespace: create a user namespace: no space left on device (cure: sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000 (now 0 and 0))\n"
	expect.True(t, string(out) == want, "got  %swant %s", out, want)
}
