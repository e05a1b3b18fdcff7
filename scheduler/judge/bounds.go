package judge

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

// The kinds of witness, without the number of the leaf or pod.
const (
	byServer = "server"
	byLeaf   = "leaf"
	byHall   = "hall"
	byPod    = "pod"
)

var serverRE = regexp.MustCompile(`^server\d{1,7}$`)

var witnessRE = regexp.MustCompile(`^(leaf|hall|pod)(\d{1,6})$`)

// witnessOf splits "hall3" into its kind and number.
func witnessOf(kind string) (family string, number int, ok bool) {
	if kind == byServer || kind == lp {
		return kind, -1, true
	}
	m := witnessRE.FindStringSubmatch(kind)
	if m == nil {
		return "", 0, false
	}
	number, err := strconv.Atoi(m[2])
	return m[1], number, err == nil
}

func leafOf(name string) (leaf int, ok bool) {
	family, leaf, ok := witnessOf(name)
	return leaf, ok && family == byLeaf
}

// witnessIn is witnessOf for the kinds that a tree has.
func witnessIn(t *topology.Shape, kind string) (family string, number int, ok bool) {
	family, number, ok = witnessOf(kind)
	return family, number, ok && (family != byPod || t.Levels() == 3)
}

func witnesses(t *topology.Shape) string {
	last := t.Leaves() - 1
	if t.Levels() == 3 {
		return fmt.Sprintf("server, leaf0..leaf%d, hall0..hall%d, pod0..pod%d and lp", last, last, t.Pods()-1)
	}
	return fmt.Sprintf("server, leaf0..leaf%d, hall0..hall%d and lp", last, last)
}

// claims checks the statements of the header, once the messages are counted.
func (j *judge) claims() {
	f, r := j.file, j.Report
	for _, p := range f.Unreachable {
		if len(j.tree.LivePaths(p[0], p[1])) > 0 {
			j.claim(ReachablePair, "the file leaves out leaf%d-leaf%d, but a live path leads from one to the other", p[0], p[1])
		}
	}
	if !f.sized && f.Phases != r.Phases && (f.Phases != 0 || j.over != nil) {
		j.claim(WrongPhaseCount, "the file states %d phases; %d hold a message", f.Phases, r.Phases)
	}
	if f.Hash != "" && f.Hash != j.digest {
		j.claim(WrongHash, "the file states hash %s; its canonical text has %s", shorten([]byte(f.Hash)), j.digest)
	}
	if f.sized {
		j.sizedClaims()
	}
	switch {
	case j.over != nil:
		j.overBound()
	case f.Bound.Value != 0:
		j.bound()
	case j.opt.Bound:
		j.note("bound not checked: the file states none")
	}
}

func (j *judge) sizedClaims() {
	if j.file.Sizes == "" {
		j.note("the file states no hash of its sizes")
	} else if is := j.sizesHash(); j.file.Sizes != is {
		j.claim(WrongSizes, "the sizes are stated as %s, the pieces add up to %s", shorten([]byte(j.file.Sizes)), is)
	}
	if stated := j.file.Time; j.over == nil && stated > 0 && stated != j.Report.Duration {
		j.claim(WrongTime, "the time is stated as %.0f byte times, the last piece ends at %.0f", stated, j.Report.Duration)
	}
}

// bound checks the stated lower bound: first without its witness, then, if asked, the proof of the
// witness.
func (j *judge) bound() {
	b := j.file.Bound
	takes := float64(j.Report.Phases)
	if j.file.sized {
		takes = j.Report.Duration
	}
	r := &BoundReport{Value: b.Value, Kind: b.Kind, Gap: takes - b.Value}
	j.Report.Bound = r
	if r.Gap < 0 && (j.Report.ContentionChecked || j.file.sized) {
		j.claim(BelowBound, "the plan has %.0f %s, fewer than its stated lower bound of %.0f", takes, j.steps(), b.Value)
	}
	for _, kind := range j.strongest() {
		if n, err := j.simple(kind, nil); err == nil && b.Value < float64(n) {
			j.claim(WeakBound, "the file states a lower bound of %.0f %s; %s alone needs %d", b.Value, j.steps(), kind, n)
			break
		}
	}
	switch {
	case j.opt.Bound:
		r.Proven = j.witness()
	case j.file.sized:
		j.note("the bound was not recomputed (--bound)")
	}
}

// steps is what a bound counts in a tree.
func (j *judge) steps() string {
	if j.file.sized {
		return "byte times"
	}
	return "phases"
}

// strongest returns the labels of the server bound, the strongest leaf's and the strongest pod's.
func (j *judge) strongest() []string {
	if j.file.sized {
		return []string{j.busiestPort()}
	}
	labels := []string{byServer}
	for _, of := range []struct {
		family string
		count  int
	}{{byLeaf, j.tree.Leaves()}, {byPod, j.tree.Pods()}} {
		best, most := "", 0
		for i := range of.count {
			if n, err := j.crossing(of.family, i); err == nil && n > most {
				best, most = fmt.Sprint(of.family, i), n
			}
		}
		if best != "" {
			labels = append(labels, best)
		}
	}
	return labels
}

// witness recomputes the stated bound from its stated proof, and reports whether they agree.
func (j *judge) witness() bool {
	b := j.file.Bound
	if b.Kind == lp && b.Weights == nil && !j.file.sized {
		j.note("bound not checked: the file states no weights")
		return false
	}
	n, err := j.proves(b)
	proven := err == nil && n.Cmp(big.NewInt(int64(b.Value))) == 0
	switch {
	case err != nil:
		j.claim(WrongBound, "bound %.0f %s: %v", b.Value, shorten([]byte(b.Kind)), err)
	case !proven:
		j.claim(WrongBound, "the file states bound %.0f by %s, which proves %v", b.Value, shorten([]byte(b.Kind)), n)
	}
	return proven
}

func (j *judge) proves(b Bound) (*big.Int, error) {
	switch {
	case j.file.sized:
		return j.provesBytes(b.Kind)
	case b.Kind == lp:
		return j.dual(b.Weights, func(yield func(a, b int, n uint64)) {
			for a := range j.tree.Leaves() {
				for b := range j.tree.Leaves() {
					if n := j.tree.MessagesTo(a, b); a != b && n > 0 && !j.left(a, b) {
						yield(a, b, uint64(n))
					}
				}
			}
		})
	}
	n, err := j.simple(b.Kind, b.Subset)
	return big.NewInt(int64(n)), err
}

// simple returns the bound that a witness without weights proves.
func (j *judge) simple(kind string, subset []int) (phases int, err error) {
	if j.file.sized {
		return int(j.portBytes()[kind]), nil
	}
	family, number, _ := witnessOf(kind)
	switch family {
	case byServer:
		return j.ideal, nil
	case byLeaf, byPod:
		return j.crossing(family, number)
	case byHall:
		return j.hallBound(number, subset)
	}
	return 0, errors.New("there is no such witness")
}

// crossing returns ⌈messages / live cables⌉ of a leaf, or a pod: the messages that leave it, and those that enter it, must fit on its
// live cables upwards.
func (j *judge) crossing(family string, number int) (phases int, err error) {
	t := j.tree
	leaves, first, switches, count := 1, number, 1, t.Leaves()
	if family == byPod {
		leaves, first, switches, count = t.PodLeaves(), t.Leaves()+number*t.Spines(), t.Spines(), t.Pods()
	}
	if number >= count || family == byPod && t.Levels() == 2 {
		return 0, fmt.Errorf("no %s%d", family, number)
	}
	out, in, live := 0, 0, 0
	for a := number * leaves; a < (number+1)*leaves; a++ {
		out, in = out+j.out[a], in+j.in[a]
		for b := number * leaves; b < (number+1)*leaves; b++ {
			if b != a && !j.left(a, b) {
				out, in = out-t.MessagesTo(a, b), in-t.MessagesTo(b, a)
			}
		}
	}
	for sw := first; sw < first+switches; sw++ {
		for l := range t.UpLinks(sw) {
			if t.LinkAlive(l) {
				live++
			}
		}
	}
	return ceil(max(out, in), live, fmt.Sprint(family, number))
}

// hallBound returns ⌈n·m / cables⌉ of a leaf with n readers and a set of other
// leaves with m builders: the messages to the set leave over cables to spines that the
// leaf shares with one of them. Leaves left out have no messages to count.
func (j *judge) hallBound(leaf int, subset []int) (phases int, err error) {
	if leaf >= j.tree.Leaves() {
		return 0, fmt.Errorf("no leaf%d", leaf)
	}
	if len(subset) == 0 {
		return 0, errors.New("it names no set of leaves")
	}
	m, shared := 0, make([]bool, j.tree.Spines())
	for i, b := range subset {
		switch {
		case b < 0 || b >= j.tree.Leaves():
			return 0, fmt.Errorf("its set has leaf%d; there are leaf0..leaf%d", b, j.tree.Leaves()-1)
		case b == leaf:
			return 0, fmt.Errorf("its set has leaf%d itself", b)
		case slices.Contains(subset[:i], b):
			return 0, fmt.Errorf("its set has leaf%d twice", b)
		}
		if !j.left(leaf, b) {
			m += j.tree.MessagesTo(leaf, b)
		}
		for _, k := range j.tree.CommonSpines(leaf, b) {
			shared[k] = true
		}
	}
	links := 0
	for k, is := range shared {
		if is {
			links += j.tree.LiveCables(leaf, k)
		}
	}
	return ceil(m, links, fmt.Sprintf("leaf%d to the set", leaf))
}

func ceil(messages, links int, who string) (int, error) {
	switch {
	case messages == 0:
		return 0, nil
	case links == 0:
		return 0, fmt.Errorf("%s has no live link", who)
	}
	return (messages + links - 1) / links, nil
}

// portBytes are the bytes of each port of servers: "send server3", "receive server0".
func (j *judge) portBytes() map[string]int64 {
	sum := map[string]int64{}
	for _, s := range j.sizes {
		sum[fmt.Sprintf("send server%d", s.Src)] += s.Bytes
		sum[fmt.Sprintf("receive server%d", s.Dst)] += s.Bytes
	}
	return sum
}

func (j *judge) busiestPort() (name string) {
	sum := j.portBytes()
	for _, port := range slices.Sorted(maps.Keys(sum)) {
		if name == "" || sum[port] > sum[name] {
			name = port
		}
	}
	return name
}

// provesBytes returns the byte times that a witness proves: "send server3", "receive server0", "up leaf1", "down leaf1" or
// "lp leaf0-spine1/up=3,…".
func (j *judge) provesBytes(witness string) (*big.Int, error) {
	kind, what, _ := strings.Cut(witness, " ")
	var weights []DualWeight
	switch kind {
	case "send", "receive":
		if !serverRE.MatchString(what) {
			return nil, fmt.Errorf("%q is not a server (server3)", shorten([]byte(what)))
		}
		return big.NewInt(j.portBytes()[witness]), nil
	case "up", "down":
		leaf, ok := leafOf(what)
		if !ok || leaf >= j.tree.Leaves() {
			return nil, fmt.Errorf("no leaf %q", shorten([]byte(what)))
		}
		for l := range j.tree.UpLinks(leaf) {
			w := j.tree.UpWire(l)
			if kind == "down" {
				w++
			}
			if j.tree.LinkAlive(l) {
				weights = append(weights, DualWeight{w, 1})
			}
		}
	case lp:
		var err error
		if weights, err = weightsOf(j.tree, names(what)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no witness %q; there are send server3, receive server3, up leaf1, down leaf1 and lp leaf0-spine1/up=3,…", shorten([]byte(witness)))
	}
	return j.dual(weights, func(yield func(a, b int, n uint64)) {
		for _, s := range j.sizes {
			if a, b := int(s.Src)/j.tree.Ports(), int(s.Dst)/j.tree.Ports(); a != b {
				yield(a, b, uint64(s.Bytes))
			}
		}
	})
}
