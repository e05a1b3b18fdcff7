package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/scheduler/schedules"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/topology"
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
	return judged(c, true, answer.Document{Answer: r.answer(), Text: r.writeText, Schema: "evbench/routes-install/1", Fields: r})
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
	o := opensm.Options{LMC: c.Int("lmc"), ByPath: c.Bool("lid-per-path"), Renumber: c.Bool("renumber") || c.String("topology") == ""}
	routes, err := opensm.Compute(p, n, o)
	if _, renumbers := errors.AsType[*opensm.RenumberError](err); renumbers {
		return usagef("--renumber: %w%s", err, ways(p, n, o))
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
	i := opensm.Files{Dir: r.Dir, MadeUp: c.String("topology") == ""}.Installation()
	if err := i.Own(); err != nil {
		return usage(err)
	}
	r.Files = 4
	_, err = i.Install(c.Context, routes)
	return errors.Join(err, i.Close())
}

// ways says what each way costs to install a plan for which hosts would need new LIDs.
func ways(p *plan.Plan, n *network.Network, o opensm.Options) string {
	percent := func(p *plan.Plan) float64 { return 100 * p.Cost(plan.Equal, 0).Synchronised() }
	if p.Schedule == nil || p.FewPaths() || o.ByPath {
		return ""
	}
	out := fmt.Sprintf("\n  --renumber: new LIDs, LMC %d; %.1f %% of the link rate", max(o.LMC, p.Paths.LMC), percent(p))
	few, err := plan.Build(p.Tree, plan.Options{Schedule: schedules.FORS, Objective: schedules.FewestPaths, DropUnreachable: true, Seed: 1})
	if err != nil {
		return out
	}
	lids := "the LIDs that there are"
	if _, err := opensm.Compute(few, n, o); err != nil {
		lids = fmt.Sprintf("LMC %d, which needs --renumber, too", max(o.LMC, few.Paths.LMC))
	}
	return out + fmt.Sprintf("\n  evbench plan --objective paths: %s; %.1f %%", lids, percent(few))
}

func installNetwork(c *cli.Context, p *plan.Plan) (*network.Network, error) {
	if src := c.String("topology"); src != "" {
		s, err := netfile.Read(src, c.Int("lmc"))
		if err != nil {
			return nil, usagef("--topology: %w", err)
		}
		return s.Whole, nil
	}
	n, err := opensm.Network(p.Tree.Shape, c.Int("lmc"))
	return n, usage(err)
}

func loadOpenSM(c *cli.Context, routes *opensm.Routes, r *installReport) (err error) {
	began, m := time.Now(), loadedBy(c)
	r.Changed, err = m.Install(c.Context, routes)
	defer func() { err = errors.Join(err, m.Close()) }()
	if _, tried := errors.AsType[*companion.InstallError](err); err != nil && !tried {
		return usage(err) // nothing was changed
	}
	r.Files, r.Installed, r.TookS = 4, err == nil, time.Since(began).Seconds()
	return err
}

func (r *installReport) writeText(w io.Writer) error {
	if r.OpenSM == nil {
		return nil
	}
	var b bytes.Buffer
	r.OpenSM.WriteText(&b)
	_, err := b.WriteTo(w)
	return err
}

// answer says where the tables are: in the switches, in files, or nowhere yet.
func (r *installReport) answer() answer.Answer {
	found := answer.Finding{Place: answer.At}
	e := answer.Evidence{Next: []string{answer.Typed("evbench", "routes", "undo", r.Dir)}}
	switch {
	case r.Installed:
		found.Text = fmt.Sprintf("the switches hold these tables, read back and compared: %s entries changed in %.2f s", show.Commas(r.Changed), r.TookS)
	case r.Files == 0:
		found.Text, e.Next = "the paths of "+r.Plan+" can be installed; this was a dry run, nothing is written", nil
	case r.Target == "iproute":
		found.Text = fmt.Sprintf("%d files in %s hold the routes; on each node: ip -force -batch NODE.batch", r.Files, r.Dir)
		e.Next = nil
	default:
		found.Text = fmt.Sprintf("%d files in %s hold the tables; no switch has them yet", r.Files, r.Dir)
		e.Why = []string{"OpenSM reads " + strings.Join([]string{opensm.LFTsFile, opensm.PathsFile, opensm.LIDsFile, opensm.ConfFile}, ", ")}
	}
	e.Findings = []answer.Finding{found}
	return answer.Decide(answer.Install, e)
}

// An undoReport reports the restored state.
type undoReport struct {
	Dir     string `json:"dir"`
	Kind    string `json:"kind"`
	Since   string `json:"installed"` // when the removed tables were installed
	Changed int    `json:"changed"`
}

func routesUndoAction(c *cli.Context) error {
	dir := c.Args().First()
	var wrong error // about the input
	f, changed, err := companion.Undo(c.Context, dir, func(f companion.Former) (s companion.Switches, t companion.Tables, err error) {
		if s, t, wrong = formerOf(c, dir, f); wrong == nil && f.Kind == opensm.Kind {
			_, err = s.Before(c.Context, t)
		}
		return s, t, errors.Join(wrong, err)
	})
	if err != nil && (wrong != nil || f.Schema == "") {
		return usage(err)
	}
	if err != nil {
		return err
	}
	r := undoReport{dir, f.Kind, f.Since.Format("2006-01-02T15:04:05Z"), changed}
	return printed(c, answer.Document{Text: r.writeText, Schema: "evbench/routes-undo/1", Fields: r})
}

func (r undoReport) writeText(w io.Writer) error {
	said := fmt.Sprintf("the switches hold their former tables, read back and compared: %d entries changed", r.Changed)
	if r.Kind == opensm.KindFiles {
		said = fmt.Sprintf("the former files are back; start OpenSM anew with %s in its cache directory and the lines of %s, where there are such files",
			filepath.Join(r.Dir, opensm.LIDsFile), filepath.Join(r.Dir, opensm.ConfFile))
	}
	_, err := fmt.Fprintf(w, "%s\n", said)
	return err
}

// formerOf returns the state in a file, with its switches.
func formerOf(c *cli.Context, dir string, f companion.Former) (companion.Switches, companion.Tables, error) {
	gone := cmdline.Names(c, "give-up")
	if f.Kind == linux.Kind {
		words := strings.Fields(c.String("shell"))
		if len(words) == 0 {
			return nil, nil, fmt.Errorf("--shell is missing: the tables are those of Linux switches, such as %s", f.Files[0].Name)
		}
		s, t, err := linux.Former(words, f.Files, gone...)
		if err == nil {
			s.Limit, s.Say = c.Duration("wait"), func(what string) { fmt.Fprintln(c.App.ErrWriter, "warning:", what) }
		}
		return s, t, err
	}
	t, err := opensm.Former(f.Files, gone...)
	if f.Kind == opensm.KindFiles {
		return opensm.Files{Dir: dir}, t, err
	}
	m := loadedBy(c)
	m.Dir = dir
	return m, t, err
}

// loadedBy is the OpenSM given by the flags.
func loadedBy(c *cli.Context) *opensm.Manager {
	return &opensm.Manager{
		Dir: c.String("dir"), Process: c.String("pid"), LogFile: c.String("log"), Wait: c.Duration("wait"),
		ReadBack: opensm.CommandLine(c.String("dump")), Master: opensm.CommandLine(c.String("sminfo")),
	}
}

func routesFollowAction(c *cli.Context) (err error) {
	m := loadedBy(c)
	defer func() { err = errors.Join(err, m.Close()) }()
	f, err := readFollowing(c, m)
	if err != nil {
		return err
	}
	err = opensm.Follow(c.Context, f)
	if c.Context.Err() != nil {
		return nil // end requested; the installed tables stay
	}
	return err
}

func readFollowing(c *cli.Context, m *opensm.Manager) (o opensm.Following, err error) {
	if err := canLoad(c); err != nil {
		return o, err
	}
	o = opensm.Following{Policy: failover.Policy(c.String("policy")), Hold: c.Duration("hold"), Debounce: c.Duration("debounce"), Out: opensm.NewPrinter(c.App.Writer, c.Bool("json"))}
	if o.Hold == 0 { // no hold time
		o.Policy = failover.FORS
	}
	s, err := netfile.Read(c.String("topology"), c.Int("lmc"))
	if err != nil {
		return o, usagef("--topology: %w", err)
	}
	t, err := followTree(c, s.Whole)
	if err != nil {
		return o, err
	}
	o.About = fmt.Sprintf("%s with %d servers and %d spines", t.Notation(), t.Servers(), t.Spines())
	build := plan.Options{Schedule: schedules.FORS, Objective: schedules.Objective(c.String("objective")), Seed: 1} // as evbench plan
	o.Plans = &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) { return plan.Build(t, build) }}
	o.Subnet, err = opensm.NewSubnet(s.Whole, t, opensm.SubnetOptions{
		Manager:  m,
		Options:  opensm.Options{LMC: c.Int("lmc")},
		Discover: opensm.CommandLine(c.String("discover")),
		Tell:     o.Out.Step,
	})
	if err == nil {
		err = m.Own()
	}
	return o, usage(err)
}

func canLoad(c *cli.Context) error {
	if err := isDir(c.String("dir")); err != nil {
		return usagef("--dir: %w", err)
	}
	if name := c.String("log"); name != "" {
		if _, err := os.Stat(name); err != nil {
			return usagef("--log: %w", err)
		}
	}
	return wrongIn("--pid", opensm.Check(c.String("pid"), c.String("dir")))
}

func followTree(c *cli.Context, n *network.Network) (*topology.Tree, error) {
	if c.String("tree") == "" {
		p, err := network.Spineless(n)
		if err != nil {
			return nil, usagef("--topology: %w; does --tree say which?", err)
		}
		return p.Tree, nil
	}
	return written(c, "tree")
}
