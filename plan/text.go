package plan

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/scheduler"
	"evbench/topology"
)

// WriteText writes the plan file, text form: header lines, then one line
// "phase src dst spine" per message, servers by position, sorted by phase and
// src. Without a schedule there is no plan file.
func (p *Plan) WriteText(w io.Writer) error {
	if p.Schedule == nil {
		return fmt.Errorf("a plan without a schedule has no text form")
	}
	body := p.body()
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "# evbench plan 1")
	out.WriteString(p.fabricLines())
	fmt.Fprintf(out, "# schedule %s\n# routing %s\n# phases %d\n", p.Schedule.Name, p.Routing, p.Phases())
	fmt.Fprintf(out, "# bound %d %s\n# hash %s\n", p.Bound.Phases, p.Bound, p.hashOf(body))
	out.Write(body)
	return out.Flush()
}

// Hash names the plan: "sha256:" and the digest of its fabric lines and its
// canonical body. Plans without a schedule are named by their fabric and
// routing.
func (p *Plan) Hash() string {
	if p.Schedule == nil {
		return p.hashOf([]byte("# routing " + p.Routing + "\n"))
	}
	return p.hashOf(p.body())
}

func (p *Plan) hashOf(body []byte) string {
	h := sha256.New()
	io.WriteString(h, p.fabricLines())
	h.Write(body)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// fabricLines are the header lines that the hash covers.
func (p *Plan) fabricLines() string {
	t := p.Tree
	fill := make([]string, t.Leaves())
	for l := range fill {
		fill[l] = strconv.Itoa(t.On(l))
	}
	down := "none"
	if names := t.DownNames(); len(names) > 0 {
		down = strings.Join(names, ",")
	}
	spines := ""
	if t.Spines() != t.Ports() {
		spines = fmt.Sprintf("# spines %d\n", t.Spines())
	}
	return fmt.Sprintf("# topology %s\n# fill %s\n%s# down %s\n", t.Notation(), strings.Join(fill, ","), spines, down)
}

func (p *Plan) body() []byte {
	var b bytes.Buffer
	var line []byte
	for _, m := range p.Schedule.Messages() {
		line = strconv.AppendInt(line[:0], int64(m.Phase), 10)
		line = strconv.AppendInt(append(line, ' '), int64(p.Tree.Position(m.Src)), 10)
		line = strconv.AppendInt(append(line, ' '), int64(p.Tree.Position(m.Dst)), 10)
		line = append(line, ' ')
		if k := p.Spine(m.Src, m.Dst); k == scheduler.None {
			line = append(line, '-')
		} else {
			line = strconv.AppendInt(line, int64(k), 10)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// document is the JSON form of a plan.
type document struct {
	Schema               string   `json:"schema"`
	Topology             string   `json:"topology"`
	Fill                 []int    `json:"fill"`
	Spines               int      `json:"spines"`
	Down                 []string `json:"down"`
	Schedule             string   `json:"schedule"`
	Routing              string   `json:"routing"`
	Phases               int      `json:"phases"`
	Bound                bound    `json:"bound"`
	Gap                  int      `json:"gap"`
	Duration             float64  `json:"duration"`
	PredictedEfficiency  float64  `json:"predicted_efficiency"`
	UnsynchronisedAtMost float64  `json:"unsynchronised_efficiency_at_most"`
	Hash                 string   `json:"hash"`
	Messages             [][4]int `json:"messages"` // phase, src, dst, spine (-1: none)
}

type bound struct {
	Phases  int      `json:"phases"`
	Kind    string   `json:"kind"`
	Weights []weight `json:"weights,omitempty"`
}

// A weight is one entry of an LP dual: an integer on one direction of a link.
type weight struct {
	Link      string `json:"link"`
	Direction string `json:"direction"`
	Weight    int64  `json:"weight"`
}

// WriteJSON writes the plan as one JSON document, schema evbench/plan/1.
func (p *Plan) WriteJSON(w io.Writer) error {
	if p.Schedule == nil {
		return fmt.Errorf("a plan without a schedule has no JSON form")
	}
	cost := p.Cost(Equal, 0)
	d := document{
		Schema: "evbench/plan/1", Topology: p.Tree.Notation(), Fill: p.Tree.Fill(), Spines: p.Tree.Spines(),
		Down: p.Tree.DownNames(), Schedule: p.Schedule.Name, Routing: p.Routing,
		Phases: p.Phases(), Bound: p.bound(), Gap: p.Gap(),
		Duration: cost.Duration, PredictedEfficiency: cost.Synchronised(), UnsynchronisedAtMost: cost.Unsynchronised(),
		Hash: p.Hash(), Messages: [][4]int{},
	}
	for _, m := range p.Schedule.Messages() {
		d.Messages = append(d.Messages, [4]int{m.Phase, p.Tree.Position(m.Src), p.Tree.Position(m.Dst), p.Spine(m.Src, m.Dst)})
	}
	return json.NewEncoder(w).Encode(d)
}

// Gap returns how many phases the plan has above the lower bound. It is
// negative for a schedule whose messages meet on links: the bound is that of
// plans in which none do.
func (p *Plan) Gap() int { return p.Phases() - p.Bound.Phases }

// bound is the certificate as the file states it.
func (p *Plan) bound() bound {
	b := bound{Phases: p.Bound.Phases, Kind: p.Bound.String()}
	for wire, y := range p.Bound.Weights {
		if y != 0 {
			link, direction := p.Tree.WireName(topology.Wire(wire))
			b.Weights = append(b.Weights, weight{link, direction, y})
		}
	}
	return b
}
