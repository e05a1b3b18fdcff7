package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/fabric/host"
)

func hostCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "host",
		Usage: "say what a launcher asks of this machine: clock, addresses, free ports",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "interface", Usage: "choose the address of network interface `NAME`"},
			&cli.StringFlag{Name: "network", Usage: "choose the address in `CIDR`, such as 10.1.0.0/16"},
			&cli.StringFlag{Name: "toward", Usage: "choose the address that leads to `HOST` (default: the one that ssh came to)"},
			&cli.IntFlag{Name: "port", Usage: "see whether TCP port `N` is free there"},
			&cli.IntFlag{Name: "count", Value: 1, Usage: "and the following ones, `N` in all"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: hostAction,
	}, "  evbench host --interface lo --port 7000 --count 4")
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
	a, err := host.Self(version, want, os.Getenv("SSH_CONNECTION"))
	if err != nil {
		return err
	}
	if c.IsSet("port") {
		a.Ports = host.TryPorts(a.Addresses, port, count)
	}
	a.Clock = time.Now() // last, close to the moment at which it is read
	return printed(c, a.WriteText, document(a))
}
