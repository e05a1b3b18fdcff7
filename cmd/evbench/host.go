package main

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/site/node"
)

func hostAction(c *cli.Context) error {
	if c.NArg() > 0 && !c.Bool("check") {
		return usagef("host: %s: a scenario is for --check", c.Args().First())
	}
	if c.NArg() > 0 || c.IsSet("hosts") {
		return checkHosts(c)
	}
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
	if !c.Bool("check") {
		a.Clock = time.Now() // last, close to the moment at which it is read
		return printed(c, answer.Document{Answer: a.Answer(), Text: a.WriteText, Fields: a})
	}
	self := node.Self(a.Facts, c.String("cpus"), a.Addresses)
	if a.Node, err = json.Marshal(self); err != nil {
		return err
	}
	a.Clock = time.Now()
	r := node.Compare([]node.Host{{Name: a.Host, Node: &self, Err: a.AddressError}})
	return printed(c, answer.Document{Answer: r.Answer(), Text: r.WriteText, Fields: a})
}

// checkHosts asks hosts as a run would before it starts workers there, and compares them.
func checkHosts(c *cli.Context) error {
	_, s, err := pathsScenario(c)
	if err == nil && s.Launch.Kind != scenario.LaunchSSH {
		err = usagef("%s: launch.kind is %q; --check asks hosts by ssh, or without SCENARIO this machine", c.Args().First(), s.Launch.Kind)
	}
	if err == nil {
		err = agree(c, s)
	}
	if err != nil {
		return err
	}
	bar := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	r, err := bySSH(c, s, bar)
	if err != nil {
		return err
	}
	more := []string{"--check"}
	if cpus := cmp.Or(c.String("cpus"), s.Launch.CPUs); cpus != "" {
		more = append(more, "--cpus", cpus)
	}
	reports, problems, err := r.Ask(c.Context, more...)
	bar.End()
	if err != nil {
		return err
	}
	found := node.Compare(lists.Map(reports, func(r host.Report) node.Host { return checked(r, problems) }))
	return printed(c, answer.Document{Answer: found.Answer(), Text: found.WriteText, Schema: "evbench/nodes/1", Fields: found})
}

// checked is what a host says of itself, or why it cannot be used.
func checked(r host.Report, problems []host.Problem) node.Host {
	h := node.Host{Name: r.Host}
	if at := slices.IndexFunc(problems, func(p host.Problem) bool { return p.Host == r.Host }); at >= 0 {
		h.Err = problems[at].Reason
		return h
	}
	if err := json.Unmarshal(r.Answer.Node, &h.Node); err != nil {
		h.Err = err.Error()
	}
	return h
}
