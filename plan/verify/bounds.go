package verify

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"evbench/topology"
)

// The kinds of witness, without the number of the leaf or pod.
const (
	byServer = "server"
	byLeaf   = "leaf"
	byHall   = "hall"
	byPod    = "pod"
)

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
	if f.Phases != 0 && f.Phases != r.Phases {
		j.claim(WrongPhaseCount, "the file states %d phases; %d hold a message", f.Phases, r.Phases)
	}
	if f.Hash != "" && f.Hash != j.digest {
		j.claim(WrongHash, "the file states hash %s; its canonical text has %s", f.Hash, j.digest)
	}
	if f.Bound.Phases != 0 {
		j.bound()
	} else if j.opt.Bound {
		j.note("bound not checked: the file states none")
	}
}

// bound checks the stated lower bound: first without its witness, then, if asked, the proof of the
// witness.
func (j *judge) bound() {
	b := j.file.Bound
	r := &BoundReport{Phases: b.Phases, Kind: b.Kind, Gap: j.Report.Phases - b.Phases}
	j.Report.Bound = r
	if j.Report.ContentionChecked && r.Gap < 0 {
		j.claim(BelowBound, "the plan has %d phases, fewer than its stated lower bound of %d", j.Report.Phases, b.Phases)
	}
	for _, kind := range j.strongest() {
		if n, err := j.simple(kind, nil); err == nil && b.Phases < n {
			j.claim(WeakBound, "the file states a lower bound of %d phases; %s alone needs %d", b.Phases, kind, n)
			break
		}
	}
	if j.opt.Bound {
		r.Proven = j.witness()
	}
}

// strongest returns the labels of the server bound, the strongest leaf's and the strongest pod's.
func (j *judge) strongest() []string {
	labels := []string{byServer}
	pick := func(family string, count int, bound func(int) (int, error)) {
		best, most := -1, 0
		for i := range count {
			if n, err := bound(i); err == nil && n > most {
				best, most = i, n
			}
		}
		if best >= 0 {
			labels = append(labels, fmt.Sprint(family, best))
		}
	}
	pick(byLeaf, j.tree.Leaves(), j.leafBound)
	if p := j.tree; p.Levels() == 3 {
		pick(byPod, p.Pods(), j.podBound)
	}
	return labels
}

// witness recomputes the stated bound from its stated proof, and reports whether they agree.
func (j *judge) witness() bool {
	b := j.file.Bound
	if b.Kind == lp && b.Weights == nil {
		j.note("bound not checked: the file states no weights")
		return false
	}
	n, err := j.proves(b)
	switch {
	case err != nil:
		j.claim(WrongBound, "bound %d %s: %v", b.Phases, b.Kind, err)
	case n.Cmp(big.NewInt(int64(b.Phases))) != 0:
		j.claim(WrongBound, "the file states bound %d by %s, which proves %v", b.Phases, b.Kind, n)
	}
	return err == nil && n.Cmp(big.NewInt(int64(b.Phases))) == 0
}

func (j *judge) proves(b Bound) (*big.Int, error) {
	if b.Kind == lp {
		return j.dual(b.Weights)
	}
	n, err := j.simple(b.Kind, b.Subset)
	return big.NewInt(int64(n)), err
}

// simple returns the bound that a witness without weights proves.
func (j *judge) simple(kind string, subset []int) (phases int, err error) {
	family, number, _ := witnessOf(kind)
	switch family {
	case byServer:
		return j.ideal, nil
	case byLeaf:
		return j.leafBound(number)
	case byHall:
		return j.hallBound(number, subset)
	case byPod:
		return j.podBound(number)
	}
	return 0, errors.New("there is no such witness")
}

// leafBound returns ⌈n·m / live cables⌉ of a leaf with n readers that send to m builders on other
// leaves, or n builders that hear m readers: its outgoing, and its incoming, messages must fit on its
// live cables.
func (j *judge) leafBound(leaf int) (phases int, err error) {
	if leaf >= j.tree.Leaves() {
		return 0, fmt.Errorf("no leaf%d", leaf)
	}
	live := 0
	for k := range j.tree.Spines() {
		live += j.tree.LiveCables(leaf, k)
	}
	return ceil(max(j.out[leaf], j.in[leaf]), live, fmt.Sprintf("leaf%d", leaf))
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

// podBound returns ⌈messages / live links to top switches⌉ for the messages that leave a pod, or enter it.
func (j *judge) podBound(pod int) (phases int, err error) {
	p := j.tree
	if p.Levels() == 2 || pod >= p.Pods() {
		return 0, fmt.Errorf("no pod%d", pod)
	}
	each := j.tree.Leaves() / p.Pods()
	out, in := 0, 0
	for a := pod * each; a < (pod+1)*each; a++ {
		out, in = out+j.out[a], in+j.in[a]
		for b := pod * each; b < (pod+1)*each; b++ {
			if b != a && !j.left(a, b) {
				out -= j.tree.MessagesTo(a, b)
				in -= j.tree.MessagesTo(b, a)
			}
		}
	}
	live := 0
	for k := range j.tree.Spines() {
		for top := range p.Tops() {
			if p.TopAlive(pod, k, top) {
				live++
			}
		}
	}
	return ceil(max(out, in), live, fmt.Sprintf("pod%d", pod))
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
