package network

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/show"
	"evbench/topology"
)

// A Shape is a network of a notation that has not been built yet.
type Shape interface {
	// Build returns the network, with 2^lmc LIDs for a host.
	Build(lmc int) (*Network, error)
	// String returns the notation that ParseShape reads.
	String() string
}

const (
	howToWrite  = "write FT(L;M0,M1,…), kary(k;n), XGFT(h;m…;w…), PGFT(h;m…;w…;p…), QFT(h;m…;w…;p…), Dragonfly(p;a;h;g), HyperX(s1,s2,…;p) or Jellyfish(n;r;p;seed)"
	maxNotation = 1 << 10
)

// Parse returns the network of a notation, with LIDs from 1, 2^lmc to a host. It refuses networks
// too large for ports of one byte and LIDs of two before it builds anything.
func Parse(notation string, lmc int) (*Network, error) {
	s, err := ParseShape(notation)
	if err != nil {
		return nil, err
	}
	n, err := s.Build(lmc)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", brief(notation), err)
	}
	return n, nil
}

// Shape returns the shape of a network that was built from a notation.
func (n *Network) Shape() (Shape, error) {
	if n.Notation == "" {
		return nil, errors.New("the closed form needs a network given by its notation")
	}
	return ParseShape(n.Notation)
}

// ParseShape reads a notation; white space and upper or lower case do not
// matter.
//
//	FT(L;M0,…)       fat tree of L levels of switches, with as many cables up as
//	                 down below the top: PGFT(L; M0,M1,…; 1,M0,M1,…; 1,1,…)
//	kary(k;n)        k-ary n-tree: FT(n;k,…,k)
//	XGFT(h;m;w)      PGFT(h;m;w;p) with one cable between parent and child
//	PGFT(h;m;w;p)    see PGFT
//	QFT(h;m;w;p)     see QFT
//	Dragonfly(p;a;h;g), HyperX(s1,…;p), Jellyfish(n;r;p;seed)
//	                 see their types
func ParseShape(notation string) (Shape, error) {
	s, err := parseShape(notation)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", brief(notation), err)
	}
	return s, nil
}

func parseShape(notation string) (Shape, error) {
	if len(notation) > maxNotation {
		return nil, fmt.Errorf("longer than %d characters", maxNotation)
	}
	kind, body, open := strings.Cut(strings.TrimSpace(notation), "(")
	body, closed := strings.CutSuffix(body, ")")
	if !open || !closed {
		return nil, fmt.Errorf("%s", howToWrite)
	}
	lists, err := numbers(body)
	if err != nil {
		return nil, err
	}
	kind = strings.ToUpper(strings.TrimSpace(kind))
	want, ok := map[string]int{"FT": 2, "KARY": 2, "XGFT": 3, "PGFT": 4, "QFT": 4, "DRAGONFLY": 4, "HYPERX": 2, "JELLYFISH": 4}[kind]
	if !ok {
		return nil, fmt.Errorf("no kind %q; %s", kind, howToWrite)
	}
	if len(lists) != want || len(lists[0]) != 1 && kind != "HYPERX" {
		return nil, fmt.Errorf("%d groups of numbers; %s%s", len(lists), howToWrite, topology.Meant(notation))
	}
	if kind == "DRAGONFLY" || kind == "HYPERX" || kind == "JELLYFISH" {
		return directShape(kind, lists)
	}
	if h := lists[0][0]; kind != "KARY" {
		for i, l := range lists[1:] {
			if len(l) != h {
				return nil, fmt.Errorf("%d levels, but %d numbers in group %d", h, len(l), i+2)
			}
		}
	}
	return shape(kind, lists)
}

// shape makes a shape from complete groups of numbers, and checks it.
func shape(kind string, v [][]int) (Shape, error) {
	var g PGFT
	switch kind {
	case "FT":
		g = fatTree(v[1])
	case "KARY":
		if len(v[1]) != 1 || v[1][0] < 1 || v[1][0] > maxLevels {
			return nil, fmt.Errorf("write kary(k;n), n being 1..%d", maxLevels)
		}
		m := slices.Repeat([]int{v[0][0]}, v[1][0])
		g = fatTree(m)
	case "XGFT":
		g = PGFT{v[1], v[2], ones(len(v[1]))}
	case "PGFT":
		g = PGFT{v[1], v[2], v[3]}
	case "QFT":
		q := QFT{v[1], v[2], v[3]}
		return q, q.check()
	}
	return g, g.check()
}

func directShape(kind string, v [][]int) (Shape, error) {
	for i, l := range v {
		if len(l) != 1 && (kind != "HYPERX" || i > 0) {
			return nil, fmt.Errorf("%d numbers in group %d; %s", len(l), i+1, howToWrite)
		}
	}
	switch kind {
	case "DRAGONFLY":
		d := Dragonfly{v[0][0], v[1][0], v[2][0], v[3][0]}
		return d, d.check()
	case "HYPERX":
		x := HyperX{v[0], v[1][0]}
		return x, x.check()
	}
	j := Jellyfish{v[0][0], v[1][0], v[2][0], uint64(v[3][0])}
	return j, j.check()
}

// fatTree returns the tree in which a switch below the top has as many cables
// up as down.
func fatTree(m []int) PGFT {
	w := append([]int{1}, m...)[:len(m)]
	return PGFT{m, w, ones(len(m))}
}

func ones(n int) []int {
	return slices.Repeat([]int{1}, n)
}

// numbers reads "2;4,8".
func numbers(s string) ([][]int, error) {
	var out [][]int
	for _, group := range strings.Split(s, ";") {
		var list []int
		for _, f := range strings.Split(group, ",") {
			f = strings.TrimSpace(f)
			x, err := strconv.ParseUint(f, 10, 31)
			if err != nil || x > maxNodes {
				return nil, fmt.Errorf("%s is not a number 0..%d", brief(f), maxNodes)
			}
			list = append(list, int(x))
		}
		out = append(out, list)
	}
	return out, nil
}

var brief = show.Brief
