package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/proc"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// sshHosts is how many hosts there are: node001, node002, …
const sshHosts = 8

// privilegeSeparation is the directory that sshd wants to exist when root
// starts it; systemd makes it where the service is enabled.
const privilegeSeparation = "/run/sshd"

// An sshServer is a private OpenSSH server on loopback: keys, configuration and port of its own.
// Names of hosts that exist nowhere else lead to it, each on a loopback address of its own, so
// that one machine looks like several.
type sshServer struct {
	// Config is the file for ssh -F.
	Config string
	// Hosts are the names that lead to the server, node001 first; the i-th has
	// the address sshAddr(i).
	Hosts []string
	// port is where the server listens on all those addresses.
	port int
	// dir holds keys and files, and nothing else.
	dir string

	log proc.Tail
}

// sshAddr returns the address of the i-th host.
func sshAddr(i int) string { return fmt.Sprintf("127.0.0.%d", i+1) }

// closedHost is a host that is in the configuration, but nothing listens there.
const closedHost = "closed001"

// silentHost is a host that takes a connection and never says a word.
const silentHost = "silent001"

// Boxes are hosts with an adapter of their own, eth0 at their address, in namespaces that last as long as a command does. That
// of the last has another MTU.
var boxes = []string{"box001", "box002", "box003", "box004"}

// boxAddr returns the address of the i-th box.
func boxAddr(i int) string { return sshAddr(sshHosts + i) }

// startSSHD runs sshd until the test ends, which needs it.
func startSSHD(t *testing.T) *sshServer {
	t.Helper()
	sshd := need.Programs(t, "ssh", "sshd", "ssh", "ssh-keygen")[0] // by its absolute path it starts itself again
	if os.Geteuid() == 0 {
		expect.Must(t, os.MkdirAll(privilegeSeparation, 0o755))
	}
	s := &sshServer{dir: t.TempDir()}
	for i := range sshHosts {
		s.Hosts = append(s.Hosts, fmt.Sprintf("node%03d", i+1))
	}
	s.keys(t)
	for range 10 { // somebody else may have taken the port meanwhile
		s.port = freePorts(t, 1)
		s.write(t)
		if s.run(t, sshd) {
			return s
		}
	}
	t.Fatalf("sshd does not listen:\n%s", s.log.String())
	return nil
}

// freePorts returns the first of n ports in a row that were free on every address, and that no other test gets until this
// one ends. They are below those that the kernel gives to whoever asks for any, so that they stay free.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		if first := 10000 + rand.IntN(20000); reserve(t, first, n) {
			return first
		}
	}
	t.Fatalf("no %d free ports in a row", n)
	return 0
}

// reserve has ports in use at an address that is nobody's, where a test looks that has them from freePorts as well, also that of
// another process: programs of this one may listen much later.
func reserve(t *testing.T, first, n int) bool {
	t.Helper()
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port))
		if err == nil {
			l.Close()
			l, err = net.Listen("tcp", fmt.Sprintf("127.77.77.77:%d", port))
		}
		if err != nil {
			return false
		}
		t.Cleanup(func() { l.Close() })
	}
	return true
}

// path returns a name in the directory of the server.
func (s *sshServer) path(name string) string { return filepath.Join(s.dir, name) }

// keys makes one key for the host and one for the user.
func (s *sshServer) keys(t *testing.T) {
	t.Helper()
	for _, name := range []string{"host_key", "id"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "evbench test", "-f", s.path(name)).CombinedOutput()
		expect.MustTrue(t, err == nil, "ssh-keygen: %v: %s", err, out)
	}
	for to, from := range map[string]string{"authorized_keys": "id.pub", "known_hosts": "host_key.pub"} {
		key := expect.Value(os.ReadFile(s.path(from)))(t)
		if to == "known_hosts" {
			key = append([]byte("evbench-test "), key...)
		}
		write(t, s.dir, to, string(key))
	}
}

// write writes the configuration of both sides.
func (s *sshServer) write(t *testing.T) {
	t.Helper()
	me := expect.Value(user.Current())(t)
	var server, client strings.Builder
	fmt.Fprintf(&server, "Port %d\n", s.port)
	for i, host := range s.Hosts {
		fmt.Fprintf(&server, "ListenAddress %s\n", sshAddr(i))
		fmt.Fprintf(&client, "Host %s\n  HostName %s\n", host, sshAddr(i))
	}
	var at []string
	for i, box := range boxes {
		at = append(at, boxAddr(i))
		fmt.Fprintf(&server, "ListenAddress %s\n", boxAddr(i))
		fmt.Fprintf(&client, "Host %s\n  HostName %s\n", box, boxAddr(i))
	}
	write(t, s.dir, "box", `cd "${0%/*}" && set -- $SSH_CONNECTION
mtu=9000; [ "$3" != `+boxAddr(len(boxes)-1)+` ] || mtu=1500
exec unshare -rn sh -c "ip link add eth0 mtu $mtu type veth peer name far && ip addr add $3 dev eth0 && ip link set eth0 up && $SSH_ORIGINAL_COMMAND"
`)
	// In a shell within a shell bash does not read .bashrc, which may start programs for each command.
	fmt.Fprintf(&server, `HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
MaxStartups 500
MaxSessions 500
PrintMotd no
SetEnv SHLVL=1
Match LocalAddress %s
ForceCommand sh %s
`, s.path("host_key"), s.path("authorized_keys"), strings.Join(at, ","), s.path("box"))
	// Port 1 of loopback is nobody's.
	fmt.Fprintf(&client, `Host %s
  HostName 127.0.0.1
  Port 1
Host %s
  ProxyCommand cat >/dev/null
Host *
  Port %d
  User %s
  IdentityFile %s
  IdentityAgent none
  IdentitiesOnly yes
  HostKeyAlias evbench-test
  StrictHostKeyChecking yes
  UserKnownHostsFile %s
  GlobalKnownHostsFile none
`, closedHost, silentHost, s.port, me.Username, s.path("id"), s.path("known_hosts"))
	write(t, s.dir, "sshd_config", server.String())
	s.Config = s.path("ssh_config")
	write(t, s.dir, "ssh_config", client.String())
}

// leash runs its arguments until standard input ends, also because the test has
// been killed. Only the server keeps standard error open, so that its end shows.
const leash = `exec 3>&2 2>/dev/null; "$@" 2>&3 3>&- & p=$!; exec 3>&-; read -r x; kill $p; wait $p`

// run starts sshd and returns when it listens everywhere, or has ended because it cannot; at the
// end of the test it stops.
func (s *sshServer) run(t *testing.T, sshd string) bool {
	t.Helper()
	cmd := exec.Command("sh", "-c", leash, "sshd", sshd, "-D", "-e", "-f", s.path("sshd_config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in := expect.Value(cmd.StdinPipe())(t)
	r, w, err := os.Pipe()
	expect.Must(t, err)
	cmd.Stderr = w
	expect.Must(t, cmd.Start())
	w.Close()
	listens := make(chan bool, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.follow(bufio.NewScanner(r), listens)
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() // sshd ends as it was told to
		r.Close()  // sessions may hold the other end
		<-ended
		if t.Failed() {
			t.Logf("sshd said:\n%s", s.log.String())
		}
	})
	return <-listens
}

// follow keeps what sshd says, and tells once whether it listens everywhere.
func (s *sshServer) follow(lines *bufio.Scanner, listens chan<- bool) {
	left := sshHosts + len(boxes)
	for lines.Scan() {
		fmt.Fprintln(&s.log, lines.Text())
		switch {
		case left > 0 && strings.HasPrefix(lines.Text(), "Server listening on "):
			if left--; left == 0 {
				listens <- true
			}
		case left > 0 && strings.Contains(lines.Text(), "Bind to port "): // it failed, and sshd is content with the others
			left = 0
			listens <- false
		}
	}
	if left > 0 {
		listens <- false
	}
}
