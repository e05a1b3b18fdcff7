package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/companion/opensm"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

type installReport struct {
	Plan      string      `json:"plan"`
	Target    string      `json:"target"`
	Dir       string      `json:"dir,omitempty"`
	Files     int         `json:"files"`     // written; 0 with --dry-run
	Installed bool        `json:"installed"` // loaded by OpenSM, read back and equal
	Changed   int         `json:"lft_entries_changed,omitempty"`
	TookS     float64     `json:"took_s,omitempty"`
	OpenSM    *opensm.Use `json:"opensm,omitempty"`
}

func routesInstallAction(c *cli.Context) error {
	targets := map[string]func(*cli.Context, *plan.Plan, *installReport) error{
		"opensm": installOpenSM, "iproute": installIPRoute, "lab": installLab,
	}
	target := c.String("target")
	name := c.Args().First()
	p, err := loadPlan(name)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	if c.String("dir") == "" && !c.Bool("dry-run") && target != "lab" {
		return usagef("--dir is missing: where do the files go? --dry-run needs none")
	}
	if err := isDir(c.String("dir")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return usagef("--dir: %w", err)
	}
	r := &installReport{Plan: name, Target: target, Dir: c.String("dir")}
	if err := targets[target](c, p, r); err != nil {
		return err
	}
	return judged(c, true, r.writeText, document("evbench/routes-install/1", r))
}

func isDir(name string) error {
	if name == "" {
		return nil
	}
	s, err := os.Stat(name)
	if err == nil && !s.IsDir() {
		err = fmt.Errorf("%s is not a directory", name)
	}
	return err
}

func installLab(*cli.Context, *plan.Plan, *installReport) error {
	return usagef("--target lab: a lab belongs to the process that has built it, which installs its plans itself: " +
		"evbench run --fabric lab SCENARIO, or evbench lab up -t NOTATION -r ROUTING; for Linux switches of your own there is --target iproute")
}

func installIPRoute(c *cli.Context, p *plan.Plan, r *installReport) error {
	b, err := linux.NewBatch(p)
	if err != nil {
		return usage(err)
	}
	if !c.Bool("dry-run") {
		r.Files, err = b.Write(c.String("dir"))
	}
	if _, wrong := errors.AsType[*linux.StaleError](err); wrong {
		return usage(err)
	}
	return err
}

func installOpenSM(c *cli.Context, p *plan.Plan, r *installReport) error {
	n, err := installNetwork(c, p)
	if err != nil {
		return err
	}
	routes, err := opensm.Compute(p, n, opensm.Options{LMC: c.Int("lmc"), ByPath: c.Bool("lid-per-path"), Capacity: c.Int("capacity"), Renumber: c.Bool("renumber") || c.String("topology") == ""})
	if _, renumbers := errors.AsType[*opensm.RenumberError](err); renumbers {
		return usagef("--renumber: %w", err)
	}
	if _, refused := errors.AsType[*opensm.RefusedError](err); refused {
		return &exitError{exitFailed, err}
	}
	if err != nil {
		return usage(err)
	}
	r.OpenSM = new(routes.Use())
	if c.Bool("dry-run") {
		return nil
	}
	if c.IsSet("pid") {
		return loadOpenSM(c, routes, r)
	}
	r.Files = 4
	i := companion.Installation{Switches: opensm.Files{Dir: r.Dir}, Kind: opensm.KindFiles, Dir: r.Dir}
	_, err = i.Install(c.Context, routes)
	return err
}

func installNetwork(c *cli.Context, p *plan.Plan) (*network.Network, error) {
	if src := c.String("topology"); src != "" {
		s, err := netfile.Read(src, c.Int("lmc"))
		if err != nil {
			return nil, usagef("--topology: %w", err)
		}
		return s.Whole, nil
	}
	n, err := opensm.Network(p.Tree, c.Int("lmc"))
	return n, usage(err)
}

// loadOpenSM installs into a running OpenSM.
func loadOpenSM(c *cli.Context, routes *opensm.Routes, r *installReport) (err error) {
	began := time.Now()
	r.Changed, err = loadedBy(c).Install(c.Context, routes)
	if _, tried := errors.AsType[*companion.InstallError](err); err != nil && !tried {
		return usage(err) // nothing was done
	}
	r.Files, r.Installed, r.TookS = 4, err == nil, time.Since(began).Seconds()
	return err
}

func (r *installReport) writeText(w io.Writer) error {
	var b bytes.Buffer
	if u := r.OpenSM; u != nil {
		u.WriteText(&b)
	}
	switch {
	case r.Installed:
		fmt.Fprintf(&b, "the switches hold these tables, read back and compared: %s entries changed in %.2f s; evbench routes undo %s brings back the former ones\n",
			show.Commas(r.Changed), r.TookS, r.Dir)
	case r.Files == 0:
		fmt.Fprintln(&b, "dry run: nothing written")
	case r.Target == "iproute":
		fmt.Fprintf(&b, "%d files in %s; on each node: ip -force -batch NODE.batch\n", r.Files, r.Dir)
	default:
		fmt.Fprintf(&b, "%d files in %s: %s, %s, %s, %s\n", r.Files, r.Dir, opensm.LFTsFile, opensm.PathsFile, opensm.LIDsFile, opensm.ConfFile)
	}
	_, err := b.WriteTo(w)
	return err
}
