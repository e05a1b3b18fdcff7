package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func (g *stage) path(name string) string { return filepath.Join(g.dir, name) }

func (g *stage) write(name, text string) error {
	return os.WriteFile(g.path(name), []byte(text), 0o600)
}

// sweep kills the rest of a round, which is only processes with its mark, and returns their number.
func (g *stage) sweep() int {
	left := marked(g.mark)
	for _, p := range left {
		syscall.Kill(p.pid, syscall.SIGKILL) // an error means that it has ended
	}
	return len(left)
}

type program struct {
	cmd   *exec.Cmd
	heard watch
	done  chan struct{} // closed at its end
}

// start starts a program.Command; the caller waits for its end.
func (g *stage) start(cmd *exec.Cmd) (*program, error) {
	p := &program{cmd: cmd, done: make(chan struct{})}
	p.heard.measuring = make(chan struct{})
	p.cmd.Dir, p.cmd.Stderr = g.dir, &p.heard
	// By default the race detector delays each process by a second at its end.
	p.cmd.Env = append(p.cmd.Env, "XDG_RUNTIME_DIR="+g.dir, "GORACE=atexit_sleep_ms=0", g.mark)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.cmd.Wait() // ProcessState has the result
	}()
	return p, nil
}

// signalGroup sends a signal to all processes of its group: without root, the lab is in a child.
func (p *program) signalGroup(s syscall.Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
		return syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// holder is the process with the lab of a program: without root a child with the same arguments.
func (g *stage) holder(p *program) int {
	for _, other := range marked(g.mark) {
		if other.pid != p.cmd.Process.Pid && slices.Equal(other.args, p.cmd.Args) {
			return other.pid
		}
	}
	return p.cmd.Process.Pid
}

// A watch keeps a program's output and detects the start of its measurement.
type watch struct {
	mu        sync.Mutex
	text      bytes.Buffer
	since     time.Time
	measuring chan struct{} // closed at the start
}

// begins is evbench run's line at the start of the measured part of the case.
const begins = "chaos: measure"

// maxHeard bounds the kept output: reports of races are long.
const maxHeard = 16 << 20

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len() < maxHeard {
		w.text.Write(p)
	}
	if w.since.IsZero() && bytes.Contains(w.text.Bytes(), []byte(begins)) {
		w.since = time.Now()
		close(w.measuring)
	}
	return len(p), nil
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// measures waits until the program measures, and returns the time of that start; false if it ends
// before.
func (p *program) measures() (time.Time, bool) {
	select {
	case <-p.heard.measuring:
		p.heard.mu.Lock()
		defer p.heard.mu.Unlock()
		return p.heard.since, true
	case <-p.done:
		return time.Time{}, false
	}
}

// until waits for a moment; false if the program ends before.
func (p *program) until(t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}

type process struct {
	pid  int
	args []string
}

// marked returns the processes with a mark in their environment. It leaves out processes that end
// meanwhile, and zombies.
func marked(mark string) []process {
	entries, _ := os.ReadDir("/proc")
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), mark) {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		out = append(out, process{pid: pid, args: strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")})
	}
	return out
}

// isWorker reports whether a process is the worker of a server.
func (p process) isWorker(server int) bool {
	i := slices.Index(p.args, "--id")
	return i >= 0 && i+1 < len(p.args) && p.args[i+1] == strconv.Itoa(server) && slices.Contains(p.args, "worker")
}

// usage reads the resources of a process; false if it has ended.
func usage(pid int) (u Usage, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		n, _ := strconv.ParseUint(f[0], 10, 64)
		switch name {
		case "VmRSS":
			u.ResidentBytes = n << 10
		case "Threads":
			u.Threads = int(n)
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil || u.ResidentBytes == 0 {
		return u, false
	}
	u.Descriptors = len(entries)
	for _, e := range entries {
		if to, _ := os.Readlink(filepath.Join(dir, e.Name())); strings.HasPrefix(to, "net:") {
			u.Namespaces++
		}
	}
	return u, true
}

// A place is the state of the whole machine that a round could change for good.
type place struct {
	mounts     int // of namespaces
	interfaces []string
}

func readPlace() place {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	entries, _ := os.ReadDir("/sys/class/net")
	p := place{mounts: bytes.Count(mounts, []byte(" nsfs "))}
	for _, e := range entries {
		p.interfaces = append(p.interfaces, e.Name())
	}
	return p
}

// residue lists the rest of a round whose processes should have ended. A network namespace lives as
// long as a process is in it or holds it open, or it is mounted. abandoned: a killed program cannot
// remove its files.
func (g *stage) residue(before place, abandoned bool, expected ...string) []string {
	var out []string
	for _, p := range marked(g.mark) {
		held := ""
		if u, ok := usage(p.pid); ok && u.Namespaces > 0 {
			held = fmt.Sprintf(", which holds %d network namespaces", u.Namespaces)
		}
		out = append(out, fmt.Sprintf("process %d, %s%s", p.pid, strings.Join(p.args, " "), held))
	}
	now := readPlace()
	if now.mounts > before.mounts {
		out = append(out, fmt.Sprintf("%d mounted namespaces", now.mounts-before.mounts))
	}
	for _, name := range now.interfaces {
		if !slices.Contains(before.interfaces, name) {
			out = append(out, "network interface "+name)
		}
	}
	if sockets, _ := os.ReadFile("/proc/net/unix"); strings.Contains(string(sockets), g.dir) {
		out = append(out, "a Unix socket in "+g.dir)
	}
	entries, _ := os.ReadDir(g.dir)
	for _, e := range entries {
		if !abandoned && !slices.Contains(expected, e.Name()) {
			out = append(out, "file "+e.Name())
		}
	}
	return out
}

// gone waits until no process with the mark runs any more.
func (g *stage) gone(since time.Time, most time.Duration) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(marked(g.mark)) > 0 && time.Since(since) < most {
		<-tick.C
	}
}

const (
	beat = 20 * time.Millisecond
	// halting is the duration from which a pulse counts as a halt of the machine.
	halting = 60 * time.Millisecond
)

// pulse records, while the program measures, when the machine itself was slow: a process that
// wanted to run only for a moment did not, or the kernel did not change links. All network
// namespaces of a machine share one lock for that, and other programs take it, too.
func (g *stage) pulse() {
	since, ok := g.main.measures()
	if !ok {
		return
	}
	for next, err := time.Now(), error(nil); g.main.until(next); next = time.Now().Add(beat) {
		if err == nil {
			err = touch() // without the permission only the clock is checked
		}
		if late := time.Since(next); late > halting {
			g.seen.Halts = append(g.seen.Halts, Stop{At: next.Sub(since), For: late})
		}
	}
}

// touch makes the kernel change nothing about the loopback interface and returns when it has: it
// takes the lock for that all the same.
func touch() error {
	ask := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
	about := nl.NewIfInfomsg(unix.AF_UNSPEC)
	about.Index = 1
	ask.AddData(about)
	_, err := ask.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
