package judge

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/scheduler/order"
	"evbench/site/engines/minmax"
	"evbench/site/lft"
	"evbench/study/judge/foreign"
)

// CollectiveSchema names the form of the JSON document.
const CollectiveSchema = "evbench/judge-ring/1"

// A Collective is a measured AllGather, reduce-scatter or allreduce beside the best ring: R−1 steps of a block at the link
// rate, twice that for an allreduce, on each adapter of a host its part. What MPI programs do that have the blocks at
// hand is bounded by the same, as each host receives R−1 blocks.
type Collective struct {
	Schema     string   `json:"schema"`
	Network    string   `json:"network"`
	Collective string   `json:"collective"`
	What       string   `json:"what"`
	Hosts      int      `json:"hosts"`
	Ranks      int      `json:"ranks"`
	Rate       float64  `json:"link_bit_per_s"`
	Seconds    float64  `json:"seconds"`
	Least      float64  `json:"least_s"`
	Efficiency float64  `json:"of_at_most"`
	Tables     string   `json:"tables,omitempty"`
	InOrder    float64  `json:"order_of_ranks_at_most,omitempty"` // of the bound, by the tables
	Fullest    string   `json:"fullest,omitempty"`                // link, in the order of ranks
	Messages   int      `json:"messages,omitempty"`
	Notes      []string `json:"notes,omitempty"`

	why, assumed, limit string
	good, beyond        float64 // beyond: ranks that pass no block on within a host are so many times as fast as a ring
	flags               []string
}

// JudgeCollective judges a result of a collective.
func JudgeCollective(in Input) (*Collective, error) {
	r, job := in.Result, in.Hosts
	v := &Collective{Schema: CollectiveSchema, Network: in.Name, Collective: r.Collective, What: r.What, Hosts: job.Hosts(), Rate: in.Rate,
		Seconds: r.Seconds, Notes: r.Notes, good: in.Good.Exchange, limit: r.Limit, flags: in.Flags}
	if v.good == 0 {
		v.good = Usual.Exchange
	}
	if v.Rate == 0 {
		v.Rate = in.Whole.MessageRate(job.Nodes)
	}
	if v.Rate == 0 {
		return nil, errors.New("how fast the links are is not known (--rate)")
	}
	if v.Ranks = len(job.Nodes) * max(1, job.Slots); r.Ranks > 0 && r.Ranks != v.Ranks {
		return nil, within(in.ResultFile, fmt.Errorf("%d ranks took part, and the job has %s with %d: --hosts says which of its hosts these are", r.Ranks, show.Plural(v.Hosts, "host", "hosts"), v.Ranks))
	} else if r.Ranks == 0 && job.Names == nil {
		v.assumed = ", with one rank a host"
	}
	steps, block := float64(v.Ranks-1), float64(r.Bytes)
	if r.Collective == foreign.AllReduce {
		steps *= 2
	}
	if r.Whole {
		block = math.Ceil(block / float64(v.Ranks))
	}
	_, each := job.Rails()
	step := 1.0
	v.beyond = float64(v.Ranks-1) / float64(max(1, job.Slots)*each*(v.Hosts-1))
	v.why = fmt.Sprintf("each host receives the blocks of %s others", show.Commas(v.Ranks-1))
	if in.Tables != nil {
		x, err := in.Tables.Exchange(lft.Job{Nodes: job.Nodes, Host: job.Host, Skip: job.BetweenRails()})
		if err != nil {
			return nil, err
		}
		bound := minmax.BoundRing(in.Net, job)
		step, v.why = bound.Step, bound.Why
		ranks := order.New(&x.Problem, nil).InOrder()
		v.Tables, v.InOrder, v.Fullest, v.Messages = in.Tables.Engine, step/ranks.Step, in.Net.EndName(x.Ports[ranks.Link]), ranks.Load
	}
	v.Least = steps * step * block * 8 / (v.Rate * float64(each))
	v.Efficiency = v.Least / v.Seconds
	return v, nil
}

// Document is what was found, as commands print it.
func (v *Collective) Document() answer.Document {
	return answer.Document{Answer: v.answer(), Text: v.writeText, Fields: v}
}

// Share is the measured rate over the possible one.
func (v *Collective) Share() (of float64, known bool) { return v.Efficiency, true }

// answer is word and first sentence.
func (v *Collective) answer() answer.Answer {
	f := answer.Finding{Text: fmt.Sprintf("the %s reached %s of what the links allow%s", v.Collective, percent(v.Efficiency), v.assumed), Place: answer.At}
	ranks := ""
	if v.InOrder > 0 && v.InOrder < v.good {
		ranks = fmt.Sprintf("in the order of ranks %d messages meet on %s, so that a ring reaches %s: take another order of hosts", v.Messages, v.Fullest, percent(v.InOrder))
	}
	switch {
	case v.Efficiency > tooGood*v.beyond && v.Collective == foreign.AllGather:
		f.Doubts = []answer.Doubt{{Text: "that is more than is possible", Remedy: "another rate (--rate), or other hosts (--hosts)"}}
	case v.Efficiency > tooGood*v.beyond:
		f.Doubts = []answer.Doubt{{Text: "that is more than hosts can do: switches reduce, or the rate or the hosts are others"}}
	case v.Efficiency < v.good:
		f.Place = answer.Below
	case v.limit != "":
		f.Doubts = []answer.Doubt{{Text: "the time is the mean of the ranks"}}
	}
	e := answer.Evidence{Findings: []answer.Finding{f}, Why: []string{v.why}}
	if f.Place == answer.Below && ranks != "" {
		e.Findings = append(e.Findings, answer.Finding{Text: ranks})
	}
	if f.Place == answer.Below && v.flags != nil {
		e.Next = []string{answer.Typed(slices.Concat([]string{"evbench", "plan"}, v.flags, []string{"--collective", v.Collective, "-o", "hosts.txt"})...)}
	}
	return answer.Decide(answer.Collective, e)
}

// writeText writes the figures for people.
func (v *Collective) writeText(w io.Writer) error {
	fmt.Fprintf(w, "  %s, %s, %s at %s\n  measured %.6g s; a ring without a shared link %.6g s\n", v.What, show.Plural(v.Hosts, "host", "hosts"),
		show.Plural(v.Ranks, "rank", "ranks"), show.Amount(v.Rate, "bit/s"), v.Seconds, v.Least)
	for _, note := range v.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	return nil
}
