package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/opensm"
	"evbench/internal/atomicfile"
	"evbench/report/figure"
	"evbench/routing/lft"
	"evbench/study/jobs"
	"evbench/topology/ibnet"
	"evbench/topology/network"
)

// newFollowing is what the flags say of jobs, network and tables.
func newFollowing(c *cli.Context) (*jobs.Following, error) {
	classes, err := readJobClasses(c.String("classes"))
	if err != nil {
		return nil, err
	}
	f := &jobs.Following{Source: c.String("topology"), Classes: classes, Lanes: c.Int("lanes"), Install: (&jobTables{c: c}).put}
	if f.Network, err = jobsNetwork(c); err != nil {
		return nil, err
	}
	if f.Source == "" {
		f.Source = c.String("discover")
	}
	f.List, err = jobsList(c)
	return f, err
}

// jobsNetwork returns the network of --topology, or what discovers it.
func jobsNetwork(c *cli.Context) (func(context.Context) (*network.Network, error), error) {
	if c.String("discover") == "" {
		s, err := readSource(c, c.String("topology"))
		if err != nil {
			return nil, err
		}
		return func(context.Context) (*network.Network, error) { return s.Net, nil }, nil
	}
	discover, err := printed(c, "discover")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*network.Network, error) {
		text, err := discover(ctx)
		if err != nil {
			return nil, err
		}
		return ibnet.Read(bytes.NewReader(text))
	}, nil
}

// jobsList returns what reads the jobs, of the file or of --queue.
func jobsList(c *cli.Context) (func(context.Context) ([]jobs.Job, error), error) {
	if c.String("queue") == "" {
		name := c.Args().First()
		if _, err := os.Stat(name); err != nil && name != "-" {
			return nil, usage(err)
		}
		return func(context.Context) ([]jobs.Job, error) { return readJobs(name) }, nil
	}
	queue, err := printed(c, "queue")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]jobs.Job, error) {
		text, err := queue(ctx)
		if err != nil {
			return nil, err
		}
		list, err := jobs.Read(atomicfile.Bound(bytes.NewReader(text), maxList))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.String("queue"), err)
		}
		return list, nil
	}, nil
}

// printed returns what runs the command of a flag, for --wait at most.
func printed(c *cli.Context, flag string) (func(context.Context) ([]byte, error), error) {
	words, wait := strings.Fields(c.String(flag)), c.Duration("wait")
	if len(words) == 0 {
		return nil, usagef("--%s: names no command", flag)
	}
	if wait <= 0 {
		return nil, usagef("--wait %s: must be more than 0", wait)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	run := opensm.Command(words[0], words[1:]...)
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("not within %s", wait))
		defer cancel()
		text, err := run(ctx)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", words[0], context.Cause(ctx))
		}
		return text, err
	}, nil
}

// followJobs routes for the jobs until it is interrupted.
func followJobs(c *cli.Context, f *jobs.Following) error {
	tick := time.NewTicker(c.Duration("every"))
	defer tick.Stop()
	f.Wait = func(ctx context.Context) error {
		select {
		case <-tick.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.Tell = func(r *jobs.Routed, err error) { tellJobs(c, f.Source, r, err) }
	err := f.Run(c.Context)
	if c.Context.Err() != nil {
		return nil // asked to end, and what is installed stays
	}
	return err
}

// tellJobs prints a line.
func tellJobs(c *cli.Context, source string, r *jobs.Routed, err error) {
	if r == nil {
		r = jobs.NewRouted(source)
	}
	r.Time = new(time.Now())
	if err != nil {
		r.Error = fmt.Sprintf("%v; tried again in %s", err, c.Duration("every"))
	}
	if c.Bool("json") {
		_ = r.WriteJSON(c.App.Writer) // nobody reads any more: the tables are kept all the same
		return
	}
	fmt.Fprintf(c.App.Writer, "%s  %s\n", r.Time.Format("2006-01-02 15:04:05"), r.Line())
}

// jobTables are where tables for jobs go.
type jobTables struct {
	c       *cli.Context
	unheard bool // the file is written, and OpenSM was not told
}

// put draws, writes and installs, as the flags say.
func (to *jobTables) put(ctx context.Context, r *jobs.Routed, t *lft.Tables) error {
	c := to.c
	out, dir := c.String("out"), c.String("dir")
	if lost := r.Lost(); lost > 0 && (out != "" || dir != "") {
		return fmt.Errorf("%d routes within jobs lead nowhere: %s is not written", lost, out+dir)
	}
	if t.Lanes() > 1 && (dir != "" || out != "" && c.String("format") == "lft") {
		return usagef("--lanes: the routes need %d virtual lanes, and OpenSM's engine file gives them one; -o FILE --format json writes them", t.Lanes())
	}
	if name := c.String("heat"); name != "" {
		if err := drawHeat(name, r, t.Net); err != nil {
			return err
		}
	}
	switch {
	case dir != "":
		return to.load(ctx, r, t)
	case out != "":
		return to.write(r, t)
	}
	return nil
}

// load has OpenSM load the tables, and reads them back.
func (to *jobTables) load(ctx context.Context, r *jobs.Routed, t *lft.Tables) error {
	routes, err := opensm.OfTables(t)
	if err != nil {
		return err
	}
	err = opensm.Install(ctx, routes, loadedBy(to.c))
	if _, tried := errors.AsType[*opensm.InstallError](err); err != nil && !tried {
		return usage(err) // nothing was done
	}
	r.Installed = err == nil
	return err
}

// write writes tables that the file does not have, and says so to OpenSM.
func (to *jobTables) write(r *jobs.Routed, t *lft.Tables) error {
	c, name, form := to.c, to.c.String("out"), t.WriteDump
	if c.String("format") == "json" {
		form = t.WriteJSON
	}
	var text bytes.Buffer
	if err := form(&text); err != nil {
		return err
	}
	r.Asked = true
	if old, err := atomicfile.Read(name, int64(text.Len())); err != nil || !bytes.Equal(old, text.Bytes()) {
		if err := atomicfile.Write(name, func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
			return err
		}
		r.Written, to.unheard = true, c.IsSet("pid")
	}
	if !to.unheard {
		return nil
	}
	if err := reload(c.Int("pid")); err != nil {
		return fmt.Errorf("%s is written, but not heard of: %w", name, err)
	}
	r.Signalled, to.unheard = true, false
	return nil
}

// drawHeat draws the routes up and down each cable, by routing.
func drawHeat(name string, r *jobs.Routed, n *network.Network) error {
	write, err := writerFor("heat", name)
	if err != nil {
		return err
	}
	edges := r.Edges(n)
	var up, down []figure.Heat
	for i, l := range r.Routings {
		u, d := figure.Heat{Title: l.Routing + ", up"}, figure.Heat{Title: l.Routing + ", down"}
		for _, e := range edges {
			u.Add(e.Row, e.Column, e.Low, float64(e.Up[i]))
			d.Add(e.Row, e.Column, e.Low, float64(e.Down[i]))
		}
		up, down = append(up, u), append(down, d)
	}
	f := figure.HeatMap(fmt.Sprintf("Routes of %d jobs on each cable of %s", r.Jobs, r.Source), "cable up from a switch", "switch", "routes", append(up, down...))
	if f.Panels == nil {
		return usagef("--heat: %s", f.Missing)
	}
	return atomicfile.Write(name, func(w io.Writer) error { return write(f, w) })
}
