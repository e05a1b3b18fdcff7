package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"evbench/bench"
	"evbench/fabric"
	"evbench/fabric/hosts"
	"evbench/fabric/hosts/host"
	"evbench/fabric/workers"
	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/internal/wire"
	"evbench/scenario"
)

// An sshRun is a run whose servers are started by ssh.
type sshRun struct {
	s       *scenario.Scenario
	servers []hosts.Server
	ssh     *hosts.SSH
	// advertise replaces the host of the control address; "": it is right.
	advertise string
	addresses map[string][]string // for data, by host
	abort     context.Context     // ends starting
}

// runSSH measures a scenario on hosts that ssh reaches.
func runSSH(c *cli.Context, s *scenario.Scenario, planned []bench.Planned) error {
	if err := checkHosts(s); err != nil {
		return err
	}
	servers, err := placeServers(s)
	if err != nil {
		return usage(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("this binary: %w", err)
	}
	ssh, err := hosts.NewSSH(self, s.Launch.RemoteDir)
	if err != nil {
		return usagef("launch.%w", err)
	}
	ssh.User, ssh.Port, ssh.Config = s.Launch.User, s.Launch.SSHPort, s.Launch.Config
	ssh.Progress = showSteps(newProgress(c.App.ErrWriter, c.Bool("quiet"), c.Bool("verbose")))
	r := &sshRun{s: s, servers: servers, ssh: ssh, abort: c.Context}
	return measure(c, s, planned, r.open, r.control)
}

// placeServers says which host each server of a scenario is on, without asking
// any.
func placeServers(s *scenario.Scenario) ([]hosts.Server, error) {
	names, err := hosts.Expand(s.Launch.Hosts)
	if err != nil {
		return nil, fmt.Errorf("launch.hosts: %w", err)
	}
	if addr := s.Launch.Control; addr != "" {
		if kind, _, err := wire.SplitAddress(addr); err != nil || kind == "unix" {
			return nil, fmt.Errorf("launch.control: %q: write tcp:HOST:PORT or tls:HOST:PORT, where workers reach this machine", addr)
		}
	}
	placement, err := readPlacement(s.Launch.Placement)
	if err != nil {
		return nil, fmt.Errorf("launch.placement: %w", err)
	}
	servers, err := hosts.Place(s.Tree, names, placement)
	if err != nil {
		return nil, fmt.Errorf("launch.%w", err)
	}
	for _, at := range servers {
		if port := s.Launch.DataPort + at.Nth; port > 65_535 {
			return nil, fmt.Errorf("launch.data_port: %s has server %d at port %d", at.Host, at.Nth+1, port)
		}
	}
	return servers, nil
}

// readPlacement reads a file of leaves and their hosts, or of a network whose
// cables say it; nil without one.
func readPlacement(name string) (*hosts.Placement, error) {
	if name == "" {
		return nil, nil
	}
	data, err := atomicfile.Read(name, maxList)
	if err != nil {
		return nil, err
	}
	if hosts.IsPlacement(data) {
		p, err := hosts.ReadPlacement(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return p, nil
	}
	n, err := readNetwork(name, 0)
	if err != nil {
		return nil, err
	}
	return hosts.Cabled(n.whole)
}

// describePlaces prints which hosts are on which leaf.
func describePlaces(w io.Writer, s *scenario.Scenario) error {
	servers, err := placeServers(s)
	if err != nil {
		return usage(err)
	}
	for leaf := range s.Tree.Leaves() {
		var names []string
		for _, at := range servers[s.Tree.First(leaf):][:s.Tree.On(leaf)] {
			names = append(names, at.Host)
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "  leaf%d: %s\n", leaf, hostlist.Compress(names))
		}
	}
	return nil
}

// showSteps tells how far a step over all hosts is.
func showSteps(p *progress) func(step string, done, all int) {
	return func(step string, done, all int) {
		switch {
		case p.quiet:
		case p.live && done < all:
			p.rewrite(fmt.Sprintf("%s: %d of %d hosts", step, done, all))
		case p.live:
			p.end()
		case done == 0 && all == 1:
			p.line(step + ": 1 host")
		case done == 0:
			p.line(fmt.Sprintf("%s: %d hosts", step, all))
		}
	}
}

// control checks all hosts, and then knows where they reach this machine. It
// refuses the run when one host cannot be used: nothing is started.
func (r *sshRun) control(c *cli.Context) (listen, token string, done func() error, err error) {
	asks, want, err := r.questions()
	if err != nil {
		return "", "", nil, err
	}
	reports, err := r.ssh.Check(c.Context, asks, want)
	if err != nil {
		return "", "", nil, err
	}
	if problems := hosts.Judge(reports, want); len(problems) > 0 {
		return "", "", nil, usage(&hosts.BadHosts{What: "cannot be used", Total: len(asks), Problems: problems})
	}
	r.addresses = map[string][]string{}
	for _, a := range reports {
		r.addresses[a.Host] = a.Answer.Addresses
	}
	if listen, err = r.listen(reports); err == nil {
		listen, err = secured(c, listen)
	}
	return listen, rand.Text(), func() error { return nil }, err
}

// questions are what to ask the hosts, each once.
func (r *sshRun) questions() ([]hosts.Ask, hosts.Want, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, hosts.Want{}, fmt.Errorf("uname: %w", err)
	}
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil, hosts.Want{}, err
	}
	l := r.s.Launch
	want := hosts.Want{System: text(u.Sysname[:]) + " " + text(u.Machine[:]), Version: version, Bytes: info.Size(), Dir: l.RemoteDir}
	var asks []hosts.Ask
	for _, h := range hosts.Counted(r.servers) {
		args := []string{"--port", strconv.Itoa(l.DataPort), "--count", strconv.Itoa(h.Servers)}
		if l.Interface != "" {
			args = append(args, "--interface", l.Interface)
		}
		if l.Network != "" {
			args = append(args, "--network", l.Network)
		}
		asks = append(asks, hosts.Ask{Host: h.Host, Args: args})
	}
	return asks, want, nil
}

func text(c []byte) string {
	b, _, _ := bytes.Cut(c, []byte{0})
	return string(b)
}

// listen returns the address for the controller: that of the scenario, or a
// free port at the address that the hosts saw the questions come from. Where that
// is none of this machine, as behind a jump host, nothing tells which one they reach:
// it is a port of all of them, and workers are given the name of the machine.
func (r *sshRun) listen(reports []hosts.Report) (string, error) {
	if r.s.Launch.Control != "" {
		return r.s.Launch.Control, nil
	}
	here, err := host.Addresses()
	if err != nil {
		return "", err
	}
	if at := hosts.Reach(reports, here); at != "" {
		return "tcp:" + net.JoinHostPort(at, "0"), nil
	}
	if r.advertise, err = os.Hostname(); err != nil {
		return "", errors.Join(err, errors.New("write launch.control: tcp:HOST:PORT, where workers reach this machine"))
	}
	return "tcp::0", nil
}

// open makes the fabric: plain hosts.
func (r *sshRun) open(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return &hostsFabric{info: fabricInfo(s.Fabric), Launcher: r}, nil
}

// MayOpen implements fabric.Launcher. Other machines have limits of their own.
func (r *sshRun) MayOpen(_, _ int) error { return nil }

// Launch implements fabric.Launcher.
func (r *sshRun) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	controller := j.Controller
	if r.advertise != "" {
		kind, hostport, err := wire.SplitAddress(controller)
		if err != nil {
			return nil, err
		}
		_, port, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, err
		}
		controller = kind + ":" + net.JoinHostPort(r.advertise, port)
	}
	var start []hosts.Worker
	for _, at := range r.servers {
		var data workers.Addresses
		for _, a := range r.addresses[at.Host] {
			data = append(data, net.JoinHostPort(a, strconv.Itoa(r.s.Launch.DataPort+at.Nth)))
		}
		args := []string{
			"--controller", controller, "--token-file", "-", "--end-with-stdin",
			"--id", strconv.Itoa(j.Tree.Position(at.Rank)), "--data", data.String(),
		}
		if cpus := r.s.Launch.CPUs; cpus != "" {
			args = append(args, "--cpus", cpus)
		}
		start = append(start, hosts.Worker{Host: at.Host, Name: j.Tree.ServerName(at.Rank), Args: args})
	}
	return r.ssh.Start(ctx, r.abort, start, j.Token, j.Failed)
}
