package verify

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"evbench/topology"
)

// A header is what both forms say before it is put together.
type header struct {
	topology string
	fill     []int // nil: every leaf full
	spines   *int
	down     []string
	schedule string
	routing  string // "": pinned, the strictest
	phases   *int
	bound    *bound
	hash     string

	// where names the place of a key in the file, for errors.
	where func(key string) string
}

type bound struct {
	Phases  int      `json:"phases"`
	Kind    string   `json:"kind"`
	Weights []weight `json:"weights"`
}

type weight struct {
	Link      string `json:"link"`
	Direction string `json:"direction"`
	Weight    int64  `json:"weight"`
}

func (h *header) wrong(key, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{h.where(key)}, args...)...)
}

// apply fills in the file from the header.
func (h *header) apply(f *File) (err error) {
	if f.Tree, err = h.tree(); err != nil {
		return err
	}
	f.Schedule, f.Hash, f.Routing = h.schedule, h.hash, cmp.Or(h.routing, "pinned")
	if _, ok := routings[f.Routing]; !ok {
		return h.wrong("routing", "no routing %q; there are %s", f.Routing, routingNames)
	}
	if h.phases != nil {
		if *h.phases < 1 {
			return h.wrong("phases", "%d phases: must be at least 1", *h.phases)
		}
		f.Phases = *h.phases
	}
	if h.bound != nil {
		f.Bound, err = h.lower(f.Tree)
	}
	return err
}

// tree builds the fabric key by key, so that an error names the right one.
func (h *header) tree() (*topology.Tree, error) {
	if h.topology == "" {
		return nil, errors.New("no topology: a plan file states one, for example FT(2;4,8)")
	}
	o, err := topology.Parse(h.topology)
	if err != nil {
		return nil, h.wrong("topology", "%w", err)
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, h.wrong("topology", "%w", err)
	}
	if h.spines != nil {
		if o.Spines = *h.spines; o.Spines < 1 {
			return nil, h.wrong("spines", "%d spines: must be at least 1", o.Spines)
		}
		if t, err = topology.New(o); err != nil {
			return nil, h.wrong("spines", "%w", err)
		}
	}
	if o.Fill = h.fill; o.Fill != nil {
		if t, err = topology.New(o); err != nil {
			return nil, h.wrong("fill", "%w", err)
		}
	}
	if t.Servers() > MaxServers {
		return nil, h.wrong("topology", "%d servers: plans of at most %d are judged", t.Servers(), MaxServers)
	}
	return h.without(t)
}

func (h *header) without(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for _, name := range h.down {
		links, err := t.Links(name)
		if err != nil {
			return nil, h.wrong("down", "%w", err)
		}
		dead = append(dead, links...)
	}
	return t.Without(dead...)
}

func (h *header) lower(t *topology.Tree) (Bound, error) {
	b := Bound{Phases: h.bound.Phases, Kind: h.bound.Kind}
	if b.Phases < 1 {
		return b, h.wrong("bound", "a bound of %d phases: must be at least 1", b.Phases)
	}
	if _, isLeaf := leafOf(b.Kind); !isLeaf && b.Kind != "server" && b.Kind != LP {
		return b, h.wrong("bound", "no witness %q; there are server, leaf0..leaf%d and lp", b.Kind, t.Leaves()-1)
	}
	if h.bound.Weights == nil {
		return b, nil
	}
	seen := make([]bool, t.Wires())
	b.Weights = make([]Weight, 0, len(h.bound.Weights))
	for i, w := range h.bound.Weights {
		wire, err := wireOf(t, w.Link, w.Direction)
		switch {
		case err != nil:
			return b, h.wrong("bound", "weights[%d]: %w", i, err)
		case w.Weight < 0:
			return b, h.wrong("bound", "weights[%d]: %d is negative", i, w.Weight)
		case seen[wire]:
			return b, h.wrong("bound", "weights[%d]: %s %s has a weight already", i, w.Link, w.Direction)
		}
		seen[wire] = true
		b.Weights = append(b.Weights, Weight{wire, w.Weight})
	}
	return b, nil
}

func wireOf(t *topology.Tree, link, direction string) (topology.Wire, error) {
	links, err := t.Links(link)
	if err != nil {
		return 0, err
	}
	if len(links) != 1 || !strings.HasPrefix(link, "leaf") {
		return 0, fmt.Errorf("%q is not a link (leaf0-spine3)", link)
	}
	switch l := links[0]; direction {
	case "up":
		return t.Up(l.Leaf, l.Spine), nil
	case "down":
		return t.Down(l.Leaf, l.Spine), nil
	}
	return 0, fmt.Errorf("direction %q: must be up (leaf to spine) or down", direction)
}

var leafRE = regexp.MustCompile(`^leaf(\d{1,6})$`)

// leafOf reads "leaf3".
func leafOf(name string) (leaf int, ok bool) {
	m := leafRE.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	leaf, err := strconv.Atoi(m[1])
	return leaf, err == nil
}
