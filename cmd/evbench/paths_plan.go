package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/model/order"
	"evbench/scheduler/judge"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/ports"
	study "evbench/study/judge"
)

// planPorts plans a source port and a phase for each message between the hosts of files of paths, or those of a job among them.
func planPorts(c *cli.Context) error {
	paths, err := ports.ReadFiles(cmdline.Names(c, "paths")...)
	if err != nil {
		return wrongIn("--paths", err)
	}
	hosts, err := study.HostsOfPaths(paths)
	if err != nil {
		return err
	}
	job := network.AllHosts(hosts)
	if c.IsSet("hosts") {
		if job, err = netfile.ReadHosts(c.String("hosts"), hosts); err == nil && job.Slots > 1 {
			err = errors.New("paths lead to one port of a host, so it has one rank")
		}
		if err != nil {
			return wrongIn("--hosts", err)
		}
	}
	if err := checkPlans(len(job.Nodes), 1); err != nil {
		return err
	}
	if n := len(job.Nodes); c.IsSet("sizes") && n > mostSized {
		return usagef("--sizes: %d hosts; evbench plans sizes over given paths for at most %d", n, mostSized)
	}
	var roles ports.Roles
	if roles.Reads, roles.Builds, err = rolesOf(c, hosts, job.Nodes); err != nil {
		return err
	}
	x, err := study.ExchangeOf(paths, hosts, job, roles)
	if err != nil {
		return wrongIn("--paths "+c.String("paths"), err)
	}
	var watch stopwatch
	var a answer.Answer
	var write func(io.Writer) error
	if c.IsSet("sizes") {
		bytes, err := sizesOver(c, hosts, job.Nodes)
		if err != nil {
			return err
		}
		watch.stage("order")
		s := order.MakeSizedPorts(x, bytes, 0)
		if s.Time == 0 {
			return usagef("--sizes %s: no host that sends has bytes for one that receives", c.String("sizes"))
		}
		a, write = s.Answer(), s.WriteText
	} else {
		watch.stage("order")
		p := x.Plan(0)
		if a, write = p.Answer(), p.Write; c.String("format") == "json" {
			return answer.Document{Answer: a, Schema: "evbench/plan-ports/1", Fields: p.Figures}.Write(c.App.Writer, "json")
		}
	}
	watch.stage("")
	return writePlan(c, &watch, write, func(w io.Writer) { _ = a.WriteText(w) })
}

// portsOf reads the paths that a plan by source ports is judged on, between its hosts, and the sizes of --sizes.
func portsOf(c *cli.Context, name string, f *judge.File, o *judge.Options) error {
	paths, err := ports.ReadFiles(cmdline.Names(c, "paths")...)
	if err != nil {
		return wrongIn("--paths", err)
	}
	var hosts []string
	for rank := 0; f.ByPorts() && rank < f.Servers(); rank++ {
		words := f.Host(rank)
		if len(words) != 2 {
			return wrongIn(name, fmt.Errorf("no line x-host has the name and the address of host %d", rank))
		}
		hosts = append(hosts, words[1])
	}
	if f.ByPorts() {
		paths, err = paths.Of(hosts)
	}
	if err == nil {
		o.Ports, err = paths.ForJudge()
	}
	if err == nil {
		err = o.Ports.Suits(f)
	}
	if err != nil || !c.IsSet("sizes") {
		return wrongIn(name, err)
	}
	net, err := study.HostsOfPaths(paths)
	if err == nil {
		o.Sizes, err = sizesAt(c, net, f, network.AllHosts(net).Nodes)
	}
	return err
}

// judgePorts judges a result by the paths of its network.
func judgePorts(c *cli.Context) error {
	paths, err := ports.ReadFiles(cmdline.Names(c, "paths")...)
	if err != nil {
		return wrongIn("--paths", err)
	}
	hosts, err := study.HostsOfPaths(paths)
	if err != nil {
		return err
	}
	in, err := (&judging{c: c}).over(&netfile.Source{Whole: hosts, Net: hosts})
	if err != nil {
		return err
	}
	if r := in.Result; r != nil && r.Collective != "" {
		return usagef("--paths: not with a result of %s", r.Collective)
	}
	v, err := study.JudgePorts(*in, paths, c.String("paths"))
	if err != nil {
		return wrongIn("--paths "+c.String("paths"), err)
	}
	return sayJudged(c, v)
}
