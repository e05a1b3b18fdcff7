package wrapped

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/companion"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
)

// A Session is the runs of the program with the plan, and without it for comparison.
type Session struct {
	Launcher *Launcher
	Order    Order
	Compare  bool
	Rounds   int // of each
	// Before and After, if not nil, install tables in the network before runs without and with the
	// plan. If there is an After and no Before to undo it, runs without the plan come first;
	// otherwise they alternate.
	Before, After func(context.Context) error
	Say           func(format string, a ...any)

	puts *companion.Installation // of Before and After; nil: none
}

// Close lets others change the tables of the network; those installed stay.
func (s *Session) Close() error {
	if s.puts == nil {
		return nil
	}
	return s.puts.Close()
}

// Run runs the session, and returns the times of calls without and with the plan.
func (s *Session) Run(ctx context.Context) (before, after []*Times, err error) {
	without := s.Order
	without.Plan = ""
	type step struct {
		order  *Order
		tables func(context.Context) error
		out    *[]*Times
		name   string
	}
	own, ours := step{&without, s.Before, &before, "without the plan"}, step{&s.Order, s.After, &after, "with the plan"}
	var steps []step
	for range s.Rounds {
		if s.Compare {
			steps = append(steps, own)
		}
		steps = append(steps, ours)
	}
	if s.Compare && s.Before == nil && s.After != nil {
		for i := range steps {
			steps[i] = own
			if i >= s.Rounds {
				steps[i] = ours
			}
		}
	}
	last := ""
	for i, st := range steps {
		if st.tables != nil && st.name != last {
			if err := st.tables(ctx); err != nil {
				return before, after, err
			}
		}
		last = st.name
		s.Say("run %d of %d, %s", i+1, len(steps), st.name)
		t, err := s.Launcher.Run(ctx, st.order)
		if err != nil {
			return before, after, err
		}
		*st.out = append(*st.out, t)
	}
	return before, after, nil
}

// A Report is the final report.
type Report struct {
	Schema  string `json:"schema"`
	Network string `json:"network,omitempty"`
	Plan    string `json:"plan"` // its hash, or its file
	Hosts   int    `json:"hosts,omitempty"`
	// Of hosts with several adapters: how many take part, one of each rank, and the phases that every
	// schedule of the messages between hosts needs. The plan has those inside hosts, too, but they
	// are sent before its first phase.
	Adapters int     `json:"adapters,omitempty"`
	Least    int     `json:"least_phases,omitempty"`
	Ranks    int     `json:"ranks,omitempty"`
	Phases   int     `json:"phases,omitempty"`
	Bound    float64 `json:"bound,omitempty"` // the efficiency that no schedule exceeds
	Routes   string  `json:"routes"`
	Rounds   int     `json:"rounds"`
	Calls    []Row   `json:"calls"`
	NotKept  int     `json:"calls_not_kept,omitempty"`
	// Calls of MPI_Ialltoall, which are left to the MPI and not timed.
	Nonblocking int `json:"calls_nonblocking,omitempty"`
	// Connections with the plan, over all rounds: those by its ports, and others.
	Steered    int `json:"connections_by_port,omitempty"`
	Unsteered  int `json:"connections_unsteered,omitempty"`
	ran        bool
	order      answer.Answer // of the plan
	link, host int           // ranks that use one adapter, and ranks on the host with the fewest
}

// Schema names the form of a Report.
const Schema = "evbench/mpi-wrap/1"

func (r *Report) about(j *Job) {
	p := j.Plan
	m := j.made.Of(p.Cost(plan.Equal, 0))
	least := m.Least
	if perHost(j.hosts) != nil {
		least = float64(j.least())
	}
	r.Plan, r.Phases = p.Hash(), p.Phases()
	r.serves(j.hosts, least)
	takes := fmt.Sprintf("the plan has %s for %s", show.Plural(r.Phases, "phase", "phases"), show.Plural(r.Ranks, "rank", "ranks"))
	if m.Slow.Any() || m.Takes > float64(r.Phases) { // messages of the user's own schedule may meet
		takes = fmt.Sprintf("the exchange takes as long as %.6g messages in a row", m.Takes)
	}
	r.order = answer.Decide(answer.Wrapped, answer.Evidence{Findings: []answer.Finding{m.Finding(takes, "")}, Why: m.Why})
}

// serves counts hosts, adapters and ranks, and the efficiency where messages between hosts need so many message times.
func (r *Report) serves(hosts []Host, least float64) {
	r.Hosts, r.Ranks = len(hosts), lists.Sum(hosts, func(h Host) int { return h.Ranks })
	r.link, r.host = r.Ranks/r.Hosts, r.Ranks/r.Hosts
	away := r.Hosts - 1
	if own := perHost(hosts); own != nil { // messages inside hosts pass no link
		r.Hosts, r.Adapters, r.Least, r.host = len(own), len(hosts), int(least), slices.Min(own)
		away = r.Adapters - r.host
	}
	if least > 0 {
		r.Bound = float64(away) / least
	}
}

func (r *Report) Measured(before, after []*Times, rate float64) {
	r.ran, r.Calls = true, Summary(before, after, rate, r.Bound, max(r.link, 1), max(r.host, 1))
	for _, t := range append(before, after...) {
		r.NotKept += t.More
		r.Nonblocking += t.Nonblocking
		r.Steered, r.Unsteered = r.Steered+t.Steered, r.Unsteered+t.Unsteered
	}
}

// WriteText writes it for people: a line for each kind and size of call.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	if r.Hosts > 0 {
		least, adapters := "", ""
		if r.Adapters > 0 {
			least, adapters = fmt.Sprintf(" (at least %d between hosts)", r.Least), fmt.Sprintf(" %d adapters,", r.Adapters)
		}
		fmt.Fprintf(&b, "plan      %d phases%s for %d hosts,%s %d ranks; at most %.1f%% of the link rate; routes: %s\n", r.Phases, least, r.Hosts, adapters, r.Ranks, 100*r.Bound, r.Routes)
	}
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "%-9s %s, %d bytes from each, %s:", c.Kind, show.Plural(c.Ranks, "rank", "ranks"), c.Bytes, show.Plural(c.Calls, "call", "calls"))
		if c.Before > 0 {
			fmt.Fprintf(&b, " %s without%s", span(c.Before), percent(c.EfficiencyBefore))
		}
		if c.After > 0 {
			how := "with"
			if !c.Plan {
				how = "with the plan set, which these calls do not follow"
			}
			fmt.Fprintf(&b, " %s %s%s", span(c.After), how, percent(c.EfficiencyAfter))
		}
		if c.Ratio > 0 {
			fmt.Fprintf(&b, ", ratio %.2f", c.Ratio)
		}
		if c.OfBound > 0 {
			fmt.Fprintf(&b, ", %.1f%% of what is possible", 100*c.OfBound)
		}
		b.WriteByte('\n')
	}
	if r.Nonblocking > 0 {
		fmt.Fprintf(&b, "%s of MPI_Ialltoall left to the MPI, without a time\n", show.Plural(r.Nonblocking, "call", "calls"))
	}
	if r.Steered+r.Unsteered > 0 {
		fmt.Fprintf(&b, "%d of %d connections leave from the ports of the plan\n", r.Steered, r.Steered+r.Unsteered)
	}
	if r.NotKept > 0 {
		fmt.Fprintf(&b, "not kept: %s\n", show.Plural(r.NotKept, "call", "calls"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func span(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.1f us", 1e6*s)
	case s < 1:
		return fmt.Sprintf("%.2f ms", 1e3*s)
	}
	return fmt.Sprintf("%.3f s", s)
}

func percent(e float64) string {
	if e <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f%% of the link rate)", 100*e)
}
