// Package frrtest runs real routers, the daemons of FRR, on the switches of a lab.
package frrtest

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"evbench/fabric/lab"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// daemons is where Debian's package has them.
const daemons = "/usr/lib/frr/"

// managed are the daemons without a configuration file of their own where there is mgmtd (FRR 9 and later), which has
// theirs; and mgmtd has no socket of zebra.
var managed = []string{"mgmtd", "staticd"}

// A Router is FRR on a switch.
type Router struct {
	t   testing.TB
	dir string
}

// Start starts zebra and other daemons on a switch, which takes its addresses and routes from nobody else afterwards, and
// has vtysh load a configuration. They end with the test.
func Start(t testing.TB, l *lab.Lab, at lab.Node, config string, others ...string) *Router {
	t.Helper()
	need.Programs(t, "frr", "vtysh", "unshare", "mount", daemons+"zebra")
	dir := expect.Value(os.MkdirTemp("", "frr"))(t) // t.TempDir would be too long for the sockets
	t.Cleanup(func() { expect.OK(t, os.RemoveAll(dir)) })
	r := &Router{t, dir}
	// The daemons want the group frrvty, which in a user's namespace nobody has.
	for name, text := range map[string]string{"group": "root:x:0:root\nfrrvty:x:0:root\n", "empty.conf": "", "vtysh.conf": "", "frr.conf": config} {
		expect.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	clear := exec.CommandContext(t.Context(), "sh", "-c", "ip route flush proto static && ip address flush scope global")
	expect.Must(t, l.StartCommand(at, clear))
	expect.Must(t, clear.Wait())
	first := []string{"zebra"}
	if r.manager() {
		first = append(first, "mgmtd")
	}
	for _, name := range append(first, others...) {
		r.daemon(l, at, name)
	}
	r.vtysh("-f", filepath.Join(dir, "frr.conf"))
	return r
}

// daemon starts one and waits until vtysh can reach it.
func (r *Router) daemon(l *lab.Lab, at lab.Node, name string) {
	r.t.Helper()
	var said bytes.Buffer
	args := []string{daemons + name, "-u", "root", "-g", "root", "-i", filepath.Join(r.dir, name+".pid"),
		"--vty_socket", r.dir, "-P", "0", "--log", "file:" + filepath.Join(r.dir, name+".log")}
	if !r.manager() || !slices.Contains(managed, name) {
		args = append(args, "-f", filepath.Join(r.dir, "empty.conf"))
	}
	if name != "mgmtd" {
		args = append(args, "-z", filepath.Join(r.dir, "zserv.api"))
	}
	c := r.inside(args...)
	c.Stdout, c.Stderr = &said, &said
	expect.Must(r.t, l.StartCommand(at, c))
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	r.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
	})
	for {
		if s, err := net.Dial("unix", filepath.Join(r.dir, name+".vty")); err == nil {
			_ = s.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			r.t.Fatalf("%s ended: %v: %s", name, err, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// manager reports whether FRR has mgmtd.
func (r *Router) manager() bool {
	_, err := os.Stat(daemons + "mgmtd")
	return err == nil
}

// inside runs a program with its own list of groups, and a folder of its own for the sockets of mgmtd, which has no option
// for them.
func (r *Router) inside(args ...string) *exec.Cmd {
	script := `mount --bind "$0/group" /etc/group && mount -t tmpfs tmpfs /run && mkdir /run/frr && mount --bind "$0" /run/frr && exec "$@"`
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, r.dir}, args...)...)
}

func (r *Router) vtysh(args ...string) string {
	r.t.Helper()
	out, err := r.inside(append([]string{"vtysh", "--vty_socket", r.dir, "--config_dir", r.dir}, args...)...).Output()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		r.t.Fatalf("vtysh %q: %v: %s%s", args, err, out, x.Stderr)
	}
	expect.Must(r.t, err)
	return string(out)
}

// Say returns what vtysh says to a command.
func (r *Router) Say(command string) string {
	r.t.Helper()
	return r.vtysh("-c", command)
}
