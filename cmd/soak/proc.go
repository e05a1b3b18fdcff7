package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type process struct {
	pid  int
	args []string
}

// marked returns the processes that have a mark in their environment. One that ends
// meanwhile is not among them, nor is one that has ended and was not waited for.
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

// usage reads what a process holds; false when it has ended.
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

// A place is what of the whole machine a round could change for good.
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

// residue says what is still there of a round whose processes should have ended. A network
// namespace lives as long as a process is in it or holds it open, or it is mounted. abandoned:
// a killed program cannot remove its files.
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

// gone waits until nothing with the mark runs any more.
func (g *stage) gone(since time.Time, most time.Duration) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(marked(g.mark)) > 0 && time.Since(since) < most {
		<-tick.C
	}
}
