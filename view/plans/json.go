package plans

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

const schema = "evbench/plan/1"

// document is the JSON form of a plan, without its messages: "phase, src, dst, spine" each, on
// three levels with "top", with parallel cables with "up, down"; -1 for none.
type document struct {
	Schema               string              `json:"schema"`
	Topology             string              `json:"topology"`
	Fill                 []int               `json:"fill"`
	Spines               int                 `json:"spines,omitempty"` // two levels only
	Down                 []string            `json:"down"`
	Readers              string              `json:"readers,omitempty"` // where not all servers read and build
	Builders             string              `json:"builders,omitempty"`
	Unreachable          []string            `json:"unreachable,omitempty"`
	Schedule             string              `json:"schedule"`
	Objective            schedules.Objective `json:"objective,omitempty"`
	Routing              string              `json:"routing"`
	Phases               int                 `json:"phases"`
	Bound                *bound              `json:"bound,omitempty"`
	Gap                  *int                `json:"gap,omitempty"`
	Duration             float64             `json:"duration"`
	PredictedEfficiency  float64             `json:"predicted_efficiency"`
	UnsynchronisedAtMost float64             `json:"unsynchronised_efficiency_at_most"`
	Paths                *topology.Paths     `json:"paths,omitempty"`
	Moved                int                 `json:"moved,omitempty"`
	Hash                 string              `json:"hash"`
	Messages             json.RawMessage     `json:"messages,omitempty"`
}

type bound struct {
	Phases  int      `json:"phases"`
	Kind    string   `json:"kind"`
	Subset  []string `json:"subset,omitempty"`
	Weights []weight `json:"weights,omitempty"`
}

// A weight is one entry of an LP dual: an integer on one direction of a link.
type weight struct {
	Link      string `json:"link"`
	Direction string `json:"direction"`
	Weight    int64  `json:"weight"`
}

// WriteJSON writes the plan as one JSON document, schema evbench/plan/1.
func WriteJSON(w io.Writer, p *plan.Plan) error {
	if p.Schedule == nil {
		return errors.New("a plan without a schedule has no JSON form")
	}
	head, err := json.Marshal(documentOf(p))
	if err != nil {
		return err
	}
	if _, err := w.Write(append(head[:len(head)-1], `,"messages":[`...)); err != nil {
		return err
	}
	if err := writeMessages(w, p); err != nil {
		return err
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

func documentOf(p *plan.Plan) document {
	cost, words := p.Cost(plan.Equal, 0), p.Tree.Words()
	d := document{
		Schema: schema, Topology: p.Tree.Notation(), Fill: p.Tree.Fill(), Readers: words.Readers, Builders: words.Builders,
		Down: p.Tree.DownNames(), Unreachable: plan.PairNames(p.Unreachable), Schedule: p.Schedule.Name,
		Routing: p.Routing, Phases: p.Phases(),
		Duration: cost.Duration, PredictedEfficiency: cost.Synchronised(), UnsynchronisedAtMost: cost.Unsynchronised(),
		Moved: p.Schedule.Moved, Hash: p.Hash(),
	}
	if p.Tree.Levels() == 2 {
		d.Spines = p.Tree.Spines()
	}
	if p.Objective != schedules.FewestPhases { // the default goes without saying
		d.Objective = p.Objective
	}
	if p.Bound.Phases > 0 {
		gap := p.Gap()
		d.Bound, d.Gap = boundOf(p), &gap
	}
	if p.Paths != (topology.Paths{}) {
		d.Paths = &p.Paths
	}
	return d
}

func writeMessages(w io.Writer, p *plan.Plan) error {
	through, at, first := p.Through(), p.Tree.Positions(), true
	return plan.InBlocks(w, p.Schedule.All(), func(buf []byte, m scheduler.Message) []byte {
		if !first {
			buf = append(buf, ',')
		}
		first = false
		buf = strconv.AppendInt(append(buf, '['), int64(m.Phase), 10)
		buf = strconv.AppendInt(append(buf, ','), int64(at[m.Src]), 10)
		buf = strconv.AppendInt(append(buf, ','), int64(at[m.Dst]), 10)
		k, top := through(m.Src, m.Dst)
		n, columns := p.Tree.Columns(k, top)
		for _, x := range n[:columns] {
			buf = strconv.AppendInt(append(buf, ','), int64(x), 10)
		}
		return append(buf, ']')
	})
}

func boundOf(p *plan.Plan) *bound {
	b := &bound{Phases: p.Bound.Phases, Kind: p.Bound.String()}
	if p.Bound.Kind == scheduler.KindHall {
		b.Subset = plan.LeafNames(p.Bound.Subset)
	}
	for wire, y := range p.Bound.Weights {
		if y != 0 {
			link, direction := p.Tree.WireName(topology.Wire(wire))
			b.Weights = append(b.Weights, weight{link, direction, y})
		}
	}
	return b
}
