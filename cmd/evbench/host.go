package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/fabric/hosts"
	"evbench/fabric/hosts/host"
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
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	port, count := c.Int("port"), c.Int("count")
	if port < 0 || count < 1 || port+count-1 > 65_535 {
		return usagef("--port %d --count %d: ports are 1 to 65535", port, count)
	}
	want, err := readWant(c)
	if err != nil {
		return usage(err)
	}
	a, err := hosts.Self(version, want, os.Getenv("SSH_CONNECTION"))
	if err != nil {
		return err
	}
	if c.IsSet("port") {
		a.Ports = hosts.TryPorts(a.Addresses, port, count)
	}
	a.Clock = time.Now() // last, close to the moment at which it is read
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(a)
	}
	return printAnswer(c.App.Writer, a)
}

// readWant reads which addresses to choose; none of the flags leaves it open.
func readWant(c *cli.Context) (w host.Want, err error) {
	given := 0
	for _, name := range []string{"interface", "network", "toward"} {
		if c.String(name) != "" {
			given++
		}
	}
	if given > 1 {
		return w, errors.New("--interface, --network and --toward: give one of them, each chooses the address")
	}
	w.Interface = c.String("interface")
	if to := c.String("toward"); to != "" {
		w.Toward = net.JoinHostPort(to, "9") // any port leads there
	}
	if s := c.String("network"); s != "" {
		w.Network, err = parseNetwork(s)
	}
	return w, named("--network", err)
}

func printAnswer(w io.Writer, a hosts.Answer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "host\t%s, %s, %d cores\n", a.Host, a.Platform, a.Cores)
	fmt.Fprintf(tab, "evbench\t%s\n", a.Version)
	fmt.Fprintf(tab, "clock\t%s\n", a.Clock.UTC().Format(time.RFC3339Nano))
	for _, i := range a.Interfaces {
		state := "up"
		if !i.Up {
			state = "down"
		}
		fmt.Fprintf(tab, "%s\t%s, MTU %d byte: %s\n", i.Name, state, i.MTU, joined(i.Addrs))
	}
	for _, addr := range a.Addresses {
		fmt.Fprintf(tab, "chosen\t%s\n", addr)
	}
	if a.AddressError != "" {
		fmt.Fprintf(tab, "chosen\tnone: %s\n", a.AddressError)
	}
	for _, p := range a.Ports {
		state := "free"
		if !p.Free {
			state = p.Error
		}
		fmt.Fprintf(tab, "port %d\t%s\n", p.Port, state)
	}
	return tab.Flush()
}

func joined(all []netip.Prefix) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}
