package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"evbench/failover"
	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/routing"
	"evbench/topology"
)

// Estimates of thesis 4.4: the synchronised exchange of LHCb's 326 servers reaches 29.2 Tbit/s with
// one dead link, the other one 31; a link that failed 861 times was down for 6.1e5 s.
const (
	thesisSync   = 29.2  // Tbit/s
	thesisUnsync = 31.0  // Tbit/s
	thesisDown   = 6.1e5 // s
	thesisLost   = 1.1e6 // Tb
)

// A OneLink is the cost of one dead link, the one that failed most often in the log: Tbit/s of all
// servers.
type OneLink struct {
	Link     string  `json:"link"`
	Failures int     `json:"failures"`
	DownSec  float64 `json:"down_s"`

	Healthy     float64 `json:"healthy_tbit_per_s"`
	Sync        float64 `json:"minhop_tbit_per_s"`        // in phases over min-hop tables
	Unsync      float64 `json:"minhop_unsync_tbit_per_s"` // without phases over the same tables
	UnsyncOther float64 `json:"spread_unsync_tbit_per_s"` // without phases over tables by spread
	FORS        float64 `json:"fors_tbit_per_s"`
}

func (s *Setting) oneLink(ctx context.Context, w worst) (*OneLink, error) {
	dead := deadOf([]topology.Link{w.link})
	out := &OneLink{Link: w.link.String(), Failures: w.failures, DownSec: w.down.Seconds()}
	for _, x := range []struct {
		policy           failover.Policy
		planned, avoided Dead
		to               *float64
	}{
		{failover.FORS, "", "", &out.Healthy}, {failover.MinHop, "", dead, &out.Sync}, {failover.Unsync, dead, dead, &out.UnsyncOther}, {failover.FORS, dead, dead, &out.FORS},
	} {
		rates, err := s.rateWith(ctx, x.policy, x.planned, []Dead{x.avoided})
		if err != nil {
			return nil, err
		}
		*x.to = rates[0] / tbit
	}
	rate, err := s.unsynchronised(routing.MinHop, dead)
	out.Unsync = rate / tbit
	return out, err
}

// A Report is the value of policies over a log, with the inputs of the computation.
type Report struct {
	Log     Log
	Setting *Setting
	Times   Times
	Source  string // where the times come from
	Hold    time.Duration
	Results []*Result
	OneLink *OneLink // nil if nothing failed
}

// ParsePolicies reads names of policies with commas between; none, and all, means all.
func ParsePolicies(s string) ([]failover.Policy, error) {
	if s == "" || s == "all" {
		return failover.Policies(), nil
	}
	var out []failover.Policy
	for name := range strings.SplitSeq(s, ",") {
		p, err := failover.ParsePolicy(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, p) {
			return nil, fmt.Errorf("%s is named twice", p)
		}
		out = append(out, p)
	}
	return out, nil
}

// Progress receives the state of the work on a report.
type Progress struct {
	Replayed func(policy int, s *Timeline)
	States   func(policy, done, of int) // whose rates are worked out
}

// WorkOut replays the log under each policy and adds up. Log, Setting, Times and Hold are given.
func (r *Report) WorkOut(ctx context.Context, policies []failover.Policy, progress Progress) error {
	rates := &Rates{Work: r.Setting.rateWith, Same: r.Setting.same}
	for i, p := range policies {
		timeline, err := replay(p, r.Log, options{Tree: r.Setting.Tree, Times: r.Times, Hold: r.Hold})
		if err != nil {
			return err
		}
		progress.Replayed(i, timeline)
		rates.Progress = func(done, of int) { progress.States(i, done, of) }
		if err := rates.Learn(ctx, timeline); err != nil {
			return err
		}
		r.Results = append(r.Results, AddUp(timeline, rates))
	}
	worst, ok := r.Log.worst()
	if !ok {
		return nil
	}
	var err error
	r.OneLink, err = r.Setting.oneLink(ctx, worst)
	return err
}

// Answer says which policy loses least over the log, and which most. Without a policy that plans
// anew it is not known whether less can be lost.
func (r *Report) Answer() answer.Answer {
	var e answer.Evidence
	switch {
	case r.Log.Failures == 0 && r.Log.Skipped > 0:
		e.Doubts = []answer.Doubt{{Text: fmt.Sprintf("all %s of the log were left out, of no link of the tree or without begin and end", show.Plural(r.Log.Skipped, "failure", "failures")), Remedy: "--cables says which links they are"}}
		fallthrough
	case r.Log.Failures == 0:
		return answer.Decide(answer.Policy, e)
	case !slices.ContainsFunc(r.Results, func(x *Result) bool { return x.Policy == failover.FORS || x.Policy == failover.FORSHold }):
		e.Doubts = []answer.Doubt{{Text: "whether a plan around the dead links loses less is not known", Remedy: "replay policy fors, too (--policy all)"}}
	}
	by := func(x, y *Result) int { return cmp.Compare(x.Lost, y.Lost) }
	best, worst := slices.MinFunc(r.Results, by), slices.MaxFunc(r.Results, by)
	found := func(x *Result, how string) {
		e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("policy %s loses%s %.3f %% of the data", x.Policy, how, 100*x.lostShare()), Place: answer.At})
		e.Why = append(e.Why, fmt.Sprintf("in %s with %s policy %s loses %s Tb", duration(r.Log.Span.Seconds()), show.Plural(r.Log.Failures, "failure", "failures"), x.Policy, amount(x.Lost)))
	}
	if len(r.Results) == 1 {
		found(best, "")
	} else {
		found(best, " least,")
		found(worst, " most,")
	}
	return answer.Decide(answer.Policy, e)
}

func (r *Report) Document() answer.Document {
	times := map[string]float64{}
	for _, f := range r.Times.fields() {
		times[f.name+"_s"] = f.at.Seconds()
	}
	type log struct {
		From     time.Time `json:"from"`
		To       time.Time `json:"to"`
		SpanSec  float64   `json:"span_s"`
		Failures int       `json:"failures"`
		Skipped  int       `json:"failures_left_out"`
	}
	return answer.Document{Answer: r.Answer(), Text: r.WriteText, Schema: "evbench/sim-log/1", Fields: struct {
		Log      log                `json:"log"`
		Setting  string             `json:"setting"`
		Times    map[string]float64 `json:"times"`
		Source   string             `json:"times_from"`
		HoldSec  float64            `json:"hold_s"`
		Policies []*Result          `json:"policies"`
		OneLink  *OneLink           `json:"one_link"`
		Thesis   map[string]float64 `json:"thesis_4_4"`
	}{
		log{r.Log.From, r.Log.From.Add(r.Log.Span), r.Log.Span.Seconds(), r.Log.Failures, r.Log.Skipped},
		r.Setting.describe(), times, r.Source, r.Hold.Seconds(), r.Results, r.OneLink,
		map[string]float64{
			"minhop_tbit_per_s": thesisSync, "minhop_unsync_tbit_per_s": thesisUnsync, "down_s": thesisDown, "difference_tb": thesisLost,
		},
	}}
}

// WriteText writes the report for people, at most 120 columns wide.
func (r *Report) WriteText(w io.Writer) error {
	out := &strings.Builder{}
	r.head(out)
	r.amounts(out)
	r.oneLink(out)
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Report) head(w io.Writer) {
	fmt.Fprintf(w, "log: %s to %s, %s, %s", r.Log.From.Format(time.DateTime), r.Log.From.Add(r.Log.Span).Format(time.DateTime),
		duration(r.Log.Span.Seconds()), r.Log.counted())
	if r.Log.Skipped > 0 {
		fmt.Fprintf(w, "\n  left out: no link of the tree, or no known begin and end")
	}
	first, second, _ := strings.Cut(r.Times.String(), " clean")
	fmt.Fprintf(w, "\nnetwork: %s\ntimes: %s\n  clean%s\n  from %s\n", r.Setting.describe(), first, second, r.Source)
	fmt.Fprintf(w, "hold of fors+hold: %s\n", r.Hold)
	fmt.Fprintln(w, "a dead link stops all event building until tables lead around it and TCP tries again (retransmit, then twice as long …)")
}

func (r *Report) amounts(w io.Writer) {
	fmt.Fprintf(w, "\nTb of all servers; lost against the same without failures\n")
	r.rows(w, "policy\tbuilt\tlost\tshare\tstanding\tre-routed\tre-planned\tworst hour\tlost\t", func(x *Result) []any {
		worst, lost := "–", "–"
		if x.WorstHourLost > 0 {
			worst = r.Log.From.Add(time.Duration(x.WorstHour) * time.Hour).Format("2006-01-02 15:04")
			lost = amount(x.WorstHourLost)
		}
		return []any{
			amount(x.Built), amount(x.Lost), fmt.Sprintf("%.3f %%", 100*x.lostShare()),
			amount(x.LostStanding), amount(x.LostFirstAid), amount(x.LostReplanned), worst, lost,
		}
	})
	fmt.Fprintf(w, "\ntime in each plan, and links that were up but not used\n")
	r.rows(w, "policy\thealthy\tre-planned\tre-routed\tstanding\tstops\tswitches\tlinks\ttimes\tlink time\tlongest\t", func(x *Result) []any {
		return []any{
			duration(x.HealthySec), duration(x.ReplannedSec), duration(x.FirstAidSec), duration(x.StandingSec),
			x.Stops, x.Switches, x.UnusedLinks, x.UnusedTimes, duration(x.UnusedSec), duration(x.UnusedLongestSec),
		}
	})
}

func (r *Report) rows(w io.Writer, head string, cells func(*Result) []any) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, head)
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t", x.Policy)
		for _, c := range cells(x) {
			fmt.Fprintf(t, "%v\t", c)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func (r *Report) oneLink(w io.Writer) {
	o := r.OneLink
	if o == nil {
		return
	}
	fmt.Fprintf(w, "\none dead link, Tbit/s of all servers: the link that failed most often, %s, %d times, %.3g s in all\n", o.Link, o.Failures, o.DownSec)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	difference := o.Unsync - o.Sync
	fmt.Fprintln(t, "\tours\tthesis 4.4")
	for _, x := range []struct {
		what         string
		ours, thesis float64
	}{
		{"healthy", o.Healthy, 0},
		{"in phases, tables by min-hop", o.Sync, thesisSync},
		{"without phases, the same tables", o.Unsync, thesisUnsync},
		{"difference", difference, thesisUnsync - thesisSync},
		{"without phases, tables by spread", o.UnsyncOther, 0},
		{"FORS", o.FORS, 0},
	} {
		thesis := "not stated"
		if x.thesis > 0 {
			thesis = fmt.Sprintf("%.1f", x.thesis)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%s\n", x.what, x.ours, thesis)
	}
	fmt.Fprintf(t, "difference over the time it was down, Tb\t%.2g\t%.2g\n", difference*o.DownSec, thesisLost)
	fmt.Fprintf(t, "lost in phases against healthy in that time, Tb\t%.2g\tnot stated\n", (o.Healthy-o.Sync)*o.DownSec)
	t.Flush()
	fmt.Fprintln(w, `the thesis' 1.1e6 Tb are 1.8 Tbit/s for the 6.1e5 s that one link of LHCb was down (it failed 861 times): what phases
lose against no phases, both measured, not what failures cost. Ours counts all links of this log, against a network
without failures, with what fail-over itself costs; in the model flows do not block each other, so that going without
phases gains more than it did on the testbed.`)
}

// amount writes whole Tb in groups of three digits, and small amounts to a tenth. A negative loss
// means that a policy does better while links are dead.
func amount(tb float64) string {
	switch {
	case tb < -0.05:
		return "-" + amount(-tb)
	case tb < 99.95:
		return fmt.Sprintf("%.1f", max(tb, 0))
	}
	return show.Commas(int(math.RoundToEven(tb)))
}

func duration(sec float64) string {
	switch {
	case sec >= 2*86400:
		return fmt.Sprintf("%.2f d", sec/86400)
	case sec >= 2*3600:
		return fmt.Sprintf("%.2f h", sec/3600)
	case sec >= 120:
		return fmt.Sprintf("%.1f min", sec/60)
	}
	return fmt.Sprintf("%.3g s", sec)
}

type phaseKind int

// Phases of a fail-over.
const (
	healthyPhase   phaseKind = iota // the plan without failures, over its own paths
	replannedPhase                  // another plan, over its own paths
	firstAidPhase                   // tables or detours lead around links that the plan counts on
	stoppedPhase                    // nothing gets through to somebody
	phases
)

// phase returns the phase of a policy in a state. Tables that avoid no more than the plan do not
// affect it.
func (x State) phase() phaseKind {
	switch {
	case x.stopped:
		return stoppedPhase
	case !subset(x.tables, x.plan):
		return firstAidPhase
	case x.plan != "":
		return replannedPhase
	}
	return healthyPhase
}

// A Result is the value of a policy over a log. Rates are Tbit/s, amounts Tb (10^12 bit), of all
// servers together.
type Result struct {
	Policy  failover.Policy `json:"policy"`
	Healthy float64         `json:"healthy_tbit_per_s"` // when nothing is dead
	Built   float64         `json:"built_tb"`
	Lost    float64         `json:"lost_tb"` // against Healthy all the time
	// Lost is the sum of the losses in each phase.
	LostReplanned float64 `json:"lost_replanned_tb"`
	LostFirstAid  float64 `json:"lost_first_aid_tb"`
	LostStanding  float64 `json:"lost_standing_tb"`

	HealthySec   float64 `json:"healthy_s"`
	ReplannedSec float64 `json:"replanned_s"`
	FirstAidSec  float64 `json:"first_aid_s"`
	StandingSec  float64 `json:"standing_s"`

	Stops    int `json:"stops"`    // times that event building stood still
	Switches int `json:"switches"` // changes of plan

	// UnusedSec is how long links were up but not used, added up over UnusedLinks links; it
	// happened UnusedTimes times and lasted UnusedLongestSec at most.
	UnusedSec        float64 `json:"unused_link_s"`
	UnusedLinks      int     `json:"unused_links"`
	UnusedTimes      int     `json:"unused_times"`
	UnusedLongestSec float64 `json:"unused_longest_s"`

	// WorstHour is the hour of the log, from its begin, with the largest loss.
	WorstHour     int     `json:"worst_hour"`
	WorstHourLost float64 `json:"worst_hour_lost_tb"`
}

func (r *Result) lostShare() float64 {
	if all := r.Built + r.Lost; all > 0 {
		return r.Lost / all
	}
	return 0
}

const tbit = 1e12

// AddUp adds up the output of a timeline. Its rates must have been learnt.
func AddUp(s *Timeline, rates *Rates) *Result {
	out := &Result{Policy: s.Policy, Healthy: rates.of(s.Policy, State{}) / tbit, Switches: s.switches}
	sec := [phases]*float64{&out.HealthySec, &out.ReplannedSec, &out.FirstAidSec, &out.StandingSec}
	lost := [phases]*float64{new(0.0), &out.LostReplanned, &out.LostFirstAid, &out.LostStanding}
	var hours []float64
	stopped := false
	for _, x := range s.Intervals {
		rate := rates.of(s.Policy, x.state) / tbit
		p := x.state.phase()
		*sec[p] += x.lasts.Seconds()
		*lost[p] += (out.Healthy - rate) * x.lasts.Seconds()
		out.Built += rate * x.lasts.Seconds()
		hours = spread(hours, x, out.Healthy-rate)
		if x.state.stopped && !stopped {
			out.Stops++
		}
		stopped = x.state.stopped
	}
	for _, l := range lost {
		out.Lost += *l
	}
	for h, l := range hours {
		if l > out.WorstHourLost {
			out.WorstHour, out.WorstHourLost = h, l
		}
	}
	u := s.unused
	out.UnusedSec, out.UnusedLinks, out.UnusedTimes, out.UnusedLongestSec = u.total.Seconds(), len(u.links), u.times, u.longest.Seconds()
	return out
}

func spread(hours []float64, x Interval, rate float64) []float64 {
	for at, left := x.at, x.lasts; left > 0; {
		h := int(at / time.Hour)
		for len(hours) <= h {
			hours = append(hours, 0)
		}
		part := min(left, time.Duration(h+1)*time.Hour-at)
		hours[h] += rate * part.Seconds()
		at, left = at+part, left-part
	}
	return hours
}
