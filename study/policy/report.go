package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"evbench/failover"
	"evbench/routing"
	"evbench/topology"
)

// What thesis 4.4 estimates: the synchronised exchange of LHCb's 326 servers comes to
// 29.2 Tbit/s with one dead link, the other one to 31; a link that failed 861 times was
// down for 6.1e5 s.
const (
	thesisSync   = 29.2  // Tbit/s
	thesisUnsync = 31.0  // Tbit/s
	thesisDown   = 6.1e5 // s
	thesisLost   = 1.1e6 // Tb
)

// A OneLink is what one dead link costs, that which failed most often in the log: Tbit/s
// of all servers.
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
		policy  failover.Policy
		planned Dead
		to      *float64
	}{
		{failover.FORS, "", &out.Healthy}, {failover.MinHop, "", &out.Sync}, {failover.Unsync, dead, &out.UnsyncOther}, {failover.FORS, dead, &out.FORS},
	} {
		avoided := dead
		if x.to == &out.Healthy {
			avoided = ""
		}
		rates, err := s.rateWith(ctx, x.policy, x.planned, []Dead{avoided})
		if err != nil {
			return nil, err
		}
		*x.to = rates[0] / tbit
	}
	rate, err := s.unsynchronised(routing.MinHop, dead)
	out.Unsync = rate / tbit
	return out, err
}

// A Report is what policies are worth over a log, and how that was computed.
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

// Progress is told where the work on a report stands.
type Progress struct {
	Replayed func(policy int, s *Timeline)
	States   func(policy, done, of int) // whose rates are worked out
}

// WorkOut replays the log under each policy and adds up. Log, Setting, Times and Hold are
// given.
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

// WriteJSON writes one JSON document, schema evbench/sim-log/1.
func (r *Report) WriteJSON(w io.Writer) error {
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
	return json.NewEncoder(w).Encode(struct {
		Schema   string             `json:"schema"`
		Log      log                `json:"log"`
		Setting  string             `json:"setting"`
		Times    map[string]float64 `json:"times"`
		Source   string             `json:"times_from"`
		HoldSec  float64            `json:"hold_s"`
		Policies []*Result          `json:"policies"`
		OneLink  *OneLink           `json:"one_link"`
		Thesis   map[string]float64 `json:"thesis_4_4"`
	}{
		"evbench/sim-log/1", log{r.Log.From, r.Log.From.Add(r.Log.Span), r.Log.Span.Seconds(), r.Log.Failures, r.Log.Skipped},
		r.Setting.describe(), times, r.Source, r.Hold.Seconds(), r.Results, r.OneLink,
		map[string]float64{
			"minhop_tbit_per_s": thesisSync, "minhop_unsync_tbit_per_s": thesisUnsync, "down_s": thesisDown, "difference_tb": thesisLost,
		},
	})
}
