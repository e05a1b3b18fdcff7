package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench/progress"
	"evbench/plan"
	"evbench/plan/store"
	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

// mostSets is how many sets whatif plans unless a sample of more is asked for.
const mostSets = 200_000

// mostSampled is how many random sets of each kind can be asked for: what comes of
// each is kept.
const mostSampled = 1_000_000

// kept is the case whose plans --save keeps.
var kept = survey.Case{Schedule: scheduler.NameFORS, Routing: twolevel.Pinned}

func whatifCommand() *cli.Command {
	return interruptible(&cli.Command{
		Name:  "whatif",
		Usage: "plan every failure of k links, and of k switches above the leaves, and say what they cost",
		Flags: append(treeFlags(),
			&cli.IntFlag{Name: "k", Value: 1, Usage: "`N` links, or switches, die at once: 1, 2 or 3"},
			&cli.IntFlag{Name: "sample", Usage: "plan `N` random sets of links and N of switches (default: all)"},
			&cli.StringFlag{Name: "schedule", Aliases: []string{"s"}, Usage: "`NAME,…` of plan --schedule (default: linear-shift, fors)"},
			&cli.StringFlag{Name: "routing", Aliases: []string{"r"}, Usage: "`NAME,…` of plan --routing, each with each schedule " +
				"(default: pinned where the schedule chooses spines, else ftree, minhop, spread)"},
			&cli.StringFlag{Name: "save", Usage: "keep the plans of fors, pinned, in `DIR`, which is new or holds plans for this fabric"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress"},
		),
		Action: whatifAction,
	}, "  evbench whatif -t 'FT(2;4,8)' --k 2 --sample 200")
}

func whatifAction(c *cli.Context) error {
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	o := survey.WhatIfOptions{K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), KeepCase: kept}
	if o.Cases, err = cases(c); err != nil {
		return err
	}
	sets, err := countSets(t, o)
	if err != nil {
		return err
	}
	if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	w, err := saver(c, t, &o)
	if err != nil {
		return err
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s; cases: %d\n", sets, len(o.Cases))
		p := newSetProgress(c.App.ErrWriter, time.Now())
		o.Progress = p.update
		defer p.show.End()
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if w != nil && (err == nil || w.Plans() > 0) {
		if saved := w.Close(); err == nil {
			err = saved
		}
	}
	if err != nil {
		return whatifError(err, report)
	}
	return printed(c, report.WriteText, report.WriteJSON)
}

// whatifError says what is wrong use: what no set can be planned with. What went
// wrong while plans were being kept is not.
func whatifError(err error, r *survey.WhatIfReport) error {
	if r == nil && !survey.IsKeepError(err) {
		return usage(err)
	}
	return err
}

// cases joins the schedules and routings of the flags.
func cases(c *cli.Context) ([]survey.Case, error) {
	schedules, err := listed(c, "schedule")
	if err != nil {
		return nil, err
	}
	routings, err := listed(c, "routing")
	if err != nil {
		return nil, err
	}
	return survey.Cases(schedules, routings), nil
}

// countSets says how many sets there are, and refuses what would not end.
func countSets(t *topology.Tree, o survey.WhatIfOptions) (string, error) {
	if o.K < 1 || o.K > survey.MaxK {
		return "", usagef("--k %d: must be 1..%d", o.K, survey.MaxK)
	}
	if o.Sample < 0 {
		return "", usagef("--sample %d: must be a number of sets", o.Sample)
	}
	if o.Sample > mostSampled {
		return "", usagef("--sample %d: at most %d sets", o.Sample, mostSampled)
	}
	text, all := survey.CountSets(t, o)
	if all > mostSets && o.Sample == 0 {
		return "", usagef("%s: more than %d; plan some of them with --sample, for example --sample 10000", text, mostSets)
	}
	return text, nil
}

// saver makes the store that --save asks for, or nil.
func saver(c *cli.Context, t *topology.Tree, o *survey.WhatIfOptions) (*store.Writer, error) {
	dir := c.String("save")
	if dir == "" {
		return nil, nil
	}
	if !slices.Contains(o.Cases, kept) {
		return nil, usagef("--save keeps the plans of %s, which is not among the cases", kept)
	}
	if err := t.Connected(); err != nil {
		return nil, usage(err)
	}
	w, err := store.Create(dir, t)
	if err != nil {
		return nil, usagef("--save: %w", err)
	}
	o.Keep = func(p *plan.Plan) error { return w.Add(p) }
	return w, nil
}

// setProgress shows how far a survey is: on a terminal all the time, elsewhere a
// line every ten seconds.
type setProgress struct {
	show        *progress.Terminal
	start, last time.Time
	every       time.Duration
}

func newSetProgress(w io.Writer, now time.Time) *setProgress {
	p := &setProgress{show: newTerminal(w, false), start: now, last: now, every: 10 * time.Second}
	if p.show.Live() {
		p.every = 200 * time.Millisecond
	}
	return p
}

func (p *setProgress) update(done, total int) {
	now := time.Now()
	if now.Sub(p.last) < p.every || done == total {
		return
	}
	p.last = now
	text := rate(done, total, now.Sub(p.start))
	if p.show.Live() {
		p.show.Pass(text)
	} else {
		p.show.Line(text)
	}
}

// rate writes "120 of 2016 sets, 410/s, about 4.6s left".
func rate(done, total int, took time.Duration) string {
	perSecond := float64(done) / took.Seconds()
	left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
	return fmt.Sprintf("%d of %d sets, %.0f/s, about %s left", done, total, perSecond, progress.Seconds(left))
}
