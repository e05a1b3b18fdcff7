package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/urfave/cli/v2"

	"evbench/fabric/hosts/host"
	"evbench/fabric/workers"
	"evbench/internal/wire"
)

// chooseData reads which addresses a worker is reached at: given, or found on
// this machine.
func chooseData(c *cli.Context, f host.Facts) (workers.Addresses, error) {
	given := 0
	for _, name := range []string{"data", "interface", "network"} {
		if c.String(name) != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, errors.New("--data, --interface and --network: give one of them, each says where other servers reach this one")
	case given == 0 && !c.IsSet("data-port"):
		return nil, errors.New("--data is missing: where other servers reach this one, such as 10.0.0.17:7000; " +
			"--interface, --network or --data-port find the address on this machine")
	case c.String("data") != "" && c.IsSet("data-port"):
		return nil, errors.New("--data-port: the addresses of --data have a port")
	case c.String("data") != "":
		data, err := workers.ParseAddresses(c.String("data"))
		return data, named("--data", err)
	}
	port := c.Int("data-port")
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("--data-port %d: must be 0..65535", port)
	}
	w, flag, err := wanted(c)
	if err != nil {
		return nil, named(flag, err)
	}
	data, err := workers.FindAddresses(f, w, port)
	return data, named(flag, err)
}

// wanted reads which addresses of this machine to take, and by which flag.
func wanted(c *cli.Context) (w host.Want, flag string, err error) {
	if name := c.String("interface"); name != "" {
		return host.Want{Interface: name}, "--interface", nil
	}
	if n := c.String("network"); n != "" {
		w.Network, err = parseNetwork(n)
		return w, "--network", err
	}
	kind, addr, err := wire.SplitAddress(c.String("controller"))
	if err != nil {
		return w, "--controller", err
	}
	if kind == "unix" {
		err = errors.New("alone it takes the address that leads to the controller, which is on this machine: give --interface or --network")
	}
	return host.Want{Toward: addr}, "--data-port", err
}

func parseNetwork(s string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(s)
	if err != nil {
		return n, fmt.Errorf("%q: write a network, such as 10.1.0.0/16", s)
	}
	return n, nil
}

// named adds the flag that an error is about.
func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// secured is a control address with TLS, where --tls asks for that.
func secured(c *cli.Context, addr string) (string, error) {
	kind, rest, err := wire.SplitAddress(addr)
	switch {
	case !c.Bool("tls"):
		return addr, nil
	case err != nil:
		return addr, err
	case kind == "unix":
		return addr, usagef("--tls: %s leads to this machine only: there is nobody in between", addr)
	}
	return "tls:" + rest, nil
}

// tlsFlag is that of every command with a control connection.
func tlsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "tls", Usage: "encrypt the control connection (docs/do/security.md says what that protects)"}
}
