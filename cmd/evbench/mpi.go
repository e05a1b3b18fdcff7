package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/site/host"
	"evbench/site/mpi"
)

// mpiOptionsAction prints options for scripts that start Open MPI's mpirun.
func mpiOptionsAction(c *cli.Context) error {
	command := c.Args().Slice()
	if len(command) == 0 {
		command = []string{"mpirun"}
	}
	l, err := mpi.FindLauncher(c.Context, command...)
	if err != nil {
		return usage(err)
	}
	needs := mpi.Needs{Network: c.String("network"), Agent: c.String("agent"), Scratch: c.String("scratch"), Bound: mentions(command, "-bind-to")}
	if needs.Network == "" && os.Getenv("OMPI_MCA_btl_tcp_if_include")+os.Getenv("OMPI_MCA_btl_tcp_if_exclude") == "" && !mentions(command, "btl_tcp_if_") {
		warnOfNetworks(c)
	}
	_, err = fmt.Fprintln(c.App.Writer, strings.Join(l.Options(needs), "\n"))
	return err
}

func mentions(command []string, part string) bool {
	return slices.ContainsFunc(command, func(s string) bool { return strings.Contains(s, part) })
}

// warnOfNetworks says if Open MPI would use several networks of this machine.
func warnOfNetworks(c *cli.Context) {
	facts, err := host.Read()
	if networks := facts.Networks(); err == nil && len(networks) > 1 {
		fmt.Fprintf(c.App.ErrWriter, "evbench: this machine has %d networks (%s): over TCP, Open MPI sends equal parts of each message over all that two hosts share, "+
			"and the slowest limits the rate; choose one by --network, or NETWORK of scripts/run-mpirun.sh\n", len(networks), strings.Trim(fmt.Sprint(networks), "[]"))
	}
}
