package topology

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

var (
	notationRE = regexp.MustCompile(`^\s*FT\(\s*(\d+)\s*;\s*(\d+)\s*,\s*(\d+)\s*\)\s*$`)
	linkRE     = regexp.MustCompile(`^leaf(\d+)-spine(\d+)$`)
	spineRE    = regexp.MustCompile(`^spine(\d+)$`)
)

// Parse reads the notation FT(2;M0,M1).
func Parse(notation string) (Options, error) {
	m := notationRE.FindStringSubmatch(notation)
	if m == nil {
		return Options{}, fmt.Errorf("topology %q: write FT(2;M0,M1), for example FT(2;4,8): 4 server ports and spines, 8 leaves", notation)
	}
	if m[1] != "2" {
		return Options{}, fmt.Errorf("topology %q: %s levels; two-level trees FT(2;M0,M1) are supported", notation, m[1])
	}
	m0, err0 := strconv.Atoi(m[2])
	m1, err1 := strconv.Atoi(m[3])
	if err0 != nil || err1 != nil {
		return Options{}, fmt.Errorf("topology %q: number out of range", notation)
	}
	return Options{Ports: m0, Leaves: m1}, nil
}

// Notation returns FT(2;M0,M1).
func (t *Tree) Notation() string { return fmt.Sprintf("FT(2;%d,%d)", t.ports, t.leaves) }

// ParseFill reads "4,4,3", the servers on each leaf.
func ParseFill(s string) ([]int, error) {
	var out []int
	for i, f := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil {
			return nil, fmt.Errorf("fill %q: entry %d, %q, is not a number", s, i, f)
		}
		out = append(out, n)
	}
	return out, nil
}

// Links returns the links that a name stands for: one for "leaf0-spine3", all
// of a spine's for "spine3".
func (t *Tree) Links(name string) ([]Link, error) {
	if m := linkRE.FindStringSubmatch(name); m != nil {
		l := Link{atoi(m[1]), atoi(m[2])}
		if err := t.checkLink(l); err != nil {
			return nil, fmt.Errorf("no link %q; %s", name, t.Choices())
		}
		return []Link{l}, nil
	}
	if m := spineRE.FindStringSubmatch(name); m != nil {
		k := atoi(m[1])
		if k < 0 || k >= t.spines {
			return nil, fmt.Errorf("no spine %q; %s", name, t.Choices())
		}
		out := make([]Link, t.leaves)
		for l := range out {
			out[l] = Link{l, k}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%q is neither a link (leaf0-spine3) nor a spine (spine3); %s", name, t.Choices())
}

// atoi reads digits; a number too large for an int becomes -1, which no ID is.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// draws bounds how often Random tries before it gives up.
const draws = 10_000

// Random returns count links, drawn uniformly from the live ones by the seed
// such that every pair of servers still shares a spine when they die too; draws
// that disconnect a pair are thrown away. It is an error when there are fewer
// live links or when 10,000 draws all disconnect a pair.
func (t *Tree) Random(count int, seed uint64) ([]Link, error) {
	var live []Link
	for id, d := range t.dead {
		if !d {
			live = append(live, Link{id / t.spines, id % t.spines})
		}
	}
	if count < 0 || count > len(live) {
		return nil, fmt.Errorf("%d random dead links: %s has %d live leaf-spine links", count, t.Notation(), len(live))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range draws {
		rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		v, err := t.Without(live[:count]...)
		if err != nil {
			return nil, err
		}
		if v.Connected() == nil {
			return live[:count:count], nil
		}
	}
	return nil, fmt.Errorf("%d random dead links: each of %d draws cuts a pair of leaves of %s apart", count, draws, t.Notation())
}

// DownNames returns the names of the dead links, by leaf and then spine.
func (t *Tree) DownNames() []string {
	dead := t.Dead()
	out := make([]string, len(dead))
	for i, l := range dead {
		out[i] = l.String()
	}
	return out
}
