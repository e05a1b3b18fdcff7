package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/controller/wire"
	"evbench/fabric/lab"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/transport"
)

func controllerAction(c *cli.Context) error {
	token, err := readToken(c)
	if err != nil {
		return err
	}
	warnOpen(c)
	listen, err := listenFlag(c)
	if err != nil {
		return err
	}
	s, err := readNamed(c, c.Args().First(), scenario.Hosts)
	planned, err := plans(c, c.Args().First(), s, err)
	if err != nil {
		return err
	}
	if n := s.Tree.Servers(); c.IsSet("workers") && c.Int("workers") != n {
		return usagef("--workers %d: the scenario has %d servers", c.Int("workers"), n)
	}
	if err := open.CheckHosts(s); err != nil {
		return err
	}
	if over := transport.Of(s.Transport); over.Launched {
		return usagef("transport %s: workers started by hand have no %s: mpirun -n %d evbench run %s", over.Name, strings.ToUpper(over.Name), s.Tree.Servers()+1, c.Args().First())
	}
	where := func() (open.Control, error) { return open.Control{Address: listen, Token: token}, nil }
	return measure(c, measurement{scenario: s, planned: planned, open: open.Joined, control: where})
}

// listenFlag is where to listen. There is no good default: at all addresses any host that reaches
// this machine could connect, and at a single one the workers might not.
func listenFlag(c *cli.Context) (string, error) {
	listen := c.String("listen")
	if err := wire.CheckAddress(listen); err != nil {
		return "", usagef("--listen %w", err)
	}
	return secured(c, listen)
}

func readToken(c *cli.Context) (string, error) {
	name := c.String("token-file")
	if name == "" {
		return "", usagef("--token-file is missing: controller and workers share a secret, for example: (umask 077; head -c 24 /dev/urandom | base64 > token)")
	}
	token, err := proc.Made(c.Context, func() (string, error) { return open.ReadToken(name) }) // it may be a pipe
	if err != nil {
		return "", usagef("--token-file: %w", err)
	}
	if token == "" {
		return "", usagef("--token-file %s: is empty", name)
	}
	return token, nil
}

// warnOpen warns that others can read the secret.
func warnOpen(c *cli.Context) {
	name := c.String("token-file")
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 {
		fmt.Fprintf(c.App.ErrWriter, "evbench: warning: %s: others can read this secret (mode %04o): chmod 600 %[1]s\n", name, info.Mode().Perm())
	}
}

func workerAction(c *cli.Context) error {
	if c.IsSet("group") {
		return groupAction(c)
	}
	w, err := readWorker(c)
	if err != nil {
		return err
	}
	if w.CPUs != "" {
		if err := host.Pin(w.CPUs); err != nil {
			return usagef("--cpus: %w", err)
		}
	}
	if c.Bool("end-with-stdin") {
		w.EndWith = os.Stdin
	}
	return w.Run(c.Context)
}

func groupAction(c *cli.Context) error {
	g := open.Group{Controller: c.String("controller"), Sockets: open.Sockets{Buffer: c.Int("socket-buffer")}, Inside: lab.Inside}
	var err error
	if g.Token, err = readToken(c); err != nil {
		return err
	}
	if g.Members, err = open.ReadMembers(c.String("group")); err != nil {
		return usagef("--group: %w", err)
	}
	return g.Run(c.Context)
}

// readWorker reads the flags, without any action.
func readWorker(c *cli.Context) (open.Process, error) {
	w := open.Process{
		Transport: c.String("transport"), Server: c.Int("id"), Controller: c.String("controller"), Wait: c.Duration("wait"), CPUs: c.String("cpus"),
		Sockets: open.Sockets{Buffer: c.Int("socket-buffer")}, Version: version, Log: logger(c, c.App.ErrWriter),
	}
	w.Refused = func(format string, args ...any) { w.Log.Warn(fmt.Sprintf(format, args...)) }
	var err error
	if w.Token, err = readToken(c); err != nil {
		return w, err
	}
	warnOpen(c)
	if w.Server < 0 {
		return w, usagef("--id is missing: the position of this server, 0 or more")
	}
	w.Machine, _ = host.Read() // a missing interface causes an error message later
	at := open.Choice{
		Data: c.String("data"), Interface: c.String("interface"), Network: c.String("network"),
		Port: c.Int("data-port"), PortSet: c.IsSet("data-port"), Controller: c.String("controller"),
	}
	if transport.Of(w.Transport).Launched {
		err = open.CheckStarted(w.Transport)
	} else {
		w.Data, err = at.Addresses(w.Machine)
	}
	if err != nil {
		return w, usage(err)
	}
	if err := wire.CheckAddress(w.Controller); err != nil {
		return w, usagef("--controller %w", err)
	}
	w.Controller, err = secured(c, w.Controller)
	return w, err
}

// secured returns a control address with TLS, if --tls is set.
func secured(c *cli.Context, addr string) (string, error) {
	if !c.Bool("tls") {
		return addr, nil
	}
	addr, err := wire.WithTLS(addr)
	return addr, wrongIn("--tls", err)
}

func hostAction(c *cli.Context) error {
	port, count := c.Int("port"), c.Int("count")
	if port < 0 || count < 1 || port+count-1 > 65_535 {
		return usagef("--port %d --count %d: ports are 1 to 65535", port, count)
	}
	want, err := host.ReadWant(c.String("interface"), c.String("network"), c.String("toward"))
	if err != nil {
		return usage(err)
	}
	want.Addresses = c.String("address")
	a, err := host.Self(version, want, os.Getenv("SSH_CONNECTION"))
	if err != nil {
		return err
	}
	if c.IsSet("port") {
		a.Ports = host.TryPorts(a.Addresses, port, count)
	}
	a.Clock = time.Now() // last, close to the moment at which it is read
	text, json := a.Answer().Before(a.WriteText, func(w io.Writer) error { return json.NewEncoder(w).Encode(a) })
	return printed(c, text, json)
}
