package main

import (
	"github.com/urfave/cli/v2"

	"evbench/controller/wire"
)

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
