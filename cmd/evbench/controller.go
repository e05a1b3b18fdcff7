package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/controller/wire"
	"evbench/internal/proc"
	"evbench/scenario"
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
	planned, err := planCases(c, c.Args().First(), s, err)
	if err != nil {
		return err
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

// secured returns a control address with TLS, if --tls is set.
func secured(c *cli.Context, addr string) (string, error) {
	if !c.Bool("tls") {
		return addr, nil
	}
	addr, err := wire.WithTLS(addr)
	return addr, wrongIn("--tls", err)
}
