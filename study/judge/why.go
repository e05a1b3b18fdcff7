package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/scheduler"
	"evbench/topology"
)

func (f *fabric) reason(b scheduler.Bound) string {
	t := f.tree
	s := t.Servers()
	switch b.Kind {
	case scheduler.KindServer:
		return fmt.Sprintf("the link of each host to its leaf is the limit, no uplink: it sends %s", show.Plural(s-1, "message, in one step", "messages, one a step"))
	case scheduler.KindLeaf:
		return fmt.Sprintf("%s: an exchange takes at least %d steps; %s", f.uplinks(b.At, t.ServersOn(b.At), "hosts"), b.Phases, f.deadOf(b.At))
	case scheduler.KindHall:
		m := lists.Sum(b.Subset, func(leaf int) int { return t.ServersOn(leaf) })
		n := t.ServersOn(b.At)
		return fmt.Sprintf("the %d hosts of %s have %d messages for %d leaves with which it shares few spines: %s",
			n, f.name(f.places.Node(b.At)), n*m, len(b.Subset), f.deadOf(append([]int{b.At}, b.Subset...)...))
	case scheduler.KindPod:
		return fmt.Sprintf("the hosts of pod %d have more messages for other pods than its live links carry in fewer phases", b.At)
	}
	return "no split of the messages over the links loads the fullest link less: " + f.deadOf(lists.Map(f.certificate(b), func(w Weight) int { return w.of.Leaf })...)
}

// uplinks says how many servers of a leaf share how many live links to spines.
func (f *fabric) uplinks(leaf, servers int, who string) string {
	live, built := 0, f.built(leaf)
	for k := range f.tree.Spines() {
		live += f.tree.LiveCables(leaf, k)
	}
	text := show.Plural(live, "uplink", "uplinks")
	if live < built {
		text = fmt.Sprintf("%d of its %d uplinks", live, built)
	}
	ratio := float64(servers) / float64(max(live, 1))
	text = fmt.Sprintf("%s has %d %s and %s (%.3g:1", f.name(f.places.Node(leaf)), servers, who, text, ratio)
	if ratio > 1 {
		text += ", oversubscribed"
	}
	return text + ")"
}

// built is the number of links that a leaf has or had.
func (f *fabric) built(leaf int) (n int) {
	for l := range f.tree.UpLinks(leaf) {
		if !f.tree.Absent(l) {
			n++
		}
	}
	return n
}

// A Weight is the weight of a link in the proof of a bound. The weights, times the capacities, sum
// up to less than the messages put on them by their lightest paths, over the bound.
type Weight struct {
	Link string `json:"link"`
	Up   int64  `json:"up"`
	Down int64  `json:"down"`

	of topology.Link
}

// certificate lists the weights of a bound of kind lp.
func (f *fabric) certificate(b scheduler.Bound) (out []Weight) {
	for id := range f.tree.AllLinks() {
		l := f.tree.LinkOf(id)
		if w := int(f.tree.UpWire(l)); w+1 < len(b.Weights) && max(b.Weights[w], b.Weights[w+1]) > 0 {
			out = append(out, Weight{f.tree.LinkName(l), b.Weights[w], b.Weights[w+1], l})
		}
	}
	return out
}

func (f *fabric) deadOf(leaves ...int) string {
	var names []string
	for _, l := range f.tree.Dead() {
		if !l.Above && slices.Contains(leaves, l.Leaf) && f.tree.CableOf(l)[0] == l {
			names = append(names, f.tree.LinkName(l))
		}
	}
	if len(names) == 0 {
		return "none of its links is dead"
	}
	return show.Few(names) + " dead"
}

func (f *fabric) serverWhy(rank int, sends bool) string {
	i, x := f.job[rank], &f.traffic
	verb, n := "sends", x.sent[i]
	if !sends {
		verb, n = "receives", x.received[i]
	}
	return fmt.Sprintf("the link of %s is the limit: it %s %s", f.net.Info(f.hosts.Nodes[i]).Name, verb, x.amounts(n))
}

// messages are those of a flow: "12 messages for other leaves".
func (f *fabric) messages(w flow, others string) string {
	verb := "for"
	if !w.up {
		verb = "from"
	}
	return fmt.Sprintf("%s %s %s", f.traffic.amounts(int64(math.Round(w.amount))), verb, others)
}

// leafWhy says why the live links of a leaf decide for a flow.
func (f *fabric) leafWhy(leaf int, w flow) string {
	return fmt.Sprintf("%s, and %s; %s", f.uplinks(leaf, w.servers, f.traffic.who(w.up)), f.messages(w, "other leaves"), f.deadOf(leaf))
}
