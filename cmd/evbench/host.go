package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/site/host"
)

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
	return printed(c, answer.Document{Answer: a.Answer(), Text: a.WriteText, Fields: a})
}
