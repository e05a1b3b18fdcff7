package node

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// A Host is a machine of several by its name.
type Host struct {
	Name string   `json:"host"`
	Node *Node    `json:"node,omitempty"`
	Err  string   `json:"error,omitempty"` // why there is no node
	Odd  []string `json:"odd"`
}

// A Finding is one thing that makes hosts slow, or not like the others.
type Finding struct {
	Hosts []string `json:"hosts"`
	Text  string   `json:"text"` // "MTU 1500, the other 15 have 9000"
}

func (f Finding) String() string { return hostlist.Compress(f.Hosts) + ": " + f.Text }

// A Report compares hosts: those with findings come first.
type Report struct {
	Hosts    []Host    `json:"hosts"`
	Findings []Finding `json:"findings"` // the worst first
}

// A trait is what hosts ought to have alike.
type trait struct {
	role, where string // of its adapter, and its name; "": the machine's
	what, value string // "MTU", "9000"
	size        float64
	// least is the part of the middle of all below which a size is odd; 0: sizes do not matter, and a value that most
	// others do not have is odd.
	least float64
}

const (
	leastCopied = 0.75 // of the middle: copies beside other work differ by a tenth
	leastMemory = 0.97 // kernels keep a little for themselves, a lost module is an eighth or more
	missing     = "missing"
)

// traits are those of a node, the worst for speed first, among others with adapters in these roles.
func (n *Node) traits(roles []string) (out []trait) {
	for _, role := range roles {
		i := slices.IndexFunc(n.Adapters, func(a Adapter) bool { return a.Role == role })
		if i < 0 {
			out = append(out, trait{role: role, what: "adapter " + role, value: missing})
			continue
		}
		a := n.Adapters[i]
		out = append(out, trait{role: role, what: "adapter " + role, value: "there"})
		for _, t := range []trait{
			{what: "link", value: a.Rate}, {what: "slot", value: a.slot()}, {what: "MTU", value: size(a.MTU)},
			{what: "interrupts", value: size(a.Interrupts)}, {what: "driver", value: a.Driver}, {what: "firmware", value: a.Firmware},
		} {
			t.role, t.where = role, a.Name
			out = append(out, t)
		}
	}
	return append(out, []trait{
		{what: "memory copied", value: fmt.Sprintf("%.3g GB/s", n.CopyGB), size: n.CopyGB, least: leastCopied},
		{what: "governor", value: n.Governor},
		{what: "netdev_max_backlog", value: size(n.Backlog)},
		{what: "huge pages", value: n.HugePages}, {what: "huge pages kept", value: fmt.Sprint(n.HugeCount)},
		{what: "processors", value: size(n.Cores)}, {what: "processor", value: n.CPU},
		{what: "memory", value: fmt.Sprintf("%d MiB", n.MemoryMiB), size: float64(n.MemoryMiB), least: leastMemory},
		{what: "kernel", value: n.Kernel},
	}...)
}

// size is a number, or nothing where it is not known.
func size(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// mostFull is which part of its packets a machine may have dropped since its start as its queue was full.
const mostFull = 1e-5

// alone is what slows a machine whatever the others are.
func (n *Node) alone() (out []string) {
	for _, a := range n.Adapters {
		if a.Width > 0 && a.Width < a.Most {
			out = append(out, fmt.Sprintf("the slot gives %s %d of its %d lanes", a.Name, a.Width, a.Most))
		}
		const several = 4 // one for each queue
		if a.Interrupts >= several && len(a.Served) == 1 && n.Cores > 1 {
			out = append(out, fmt.Sprintf("processor %d takes all %d interrupts of %s", a.Served[0], a.Interrupts, a.Name))
		}
		pinned, near := cpus(n.Pinned), cpus(a.Near)
		if len(pinned) > 0 && len(near) > 0 && !slices.ContainsFunc(pinned, func(p int) bool { return slices.Contains(near, p) }) {
			out = append(out, fmt.Sprintf("servers run on processors %s, and %s is near %s", n.Pinned, a.Name, a.Near))
		}
	}
	if part := float64(n.Full) / float64(max(1, n.Received)); part > mostFull {
		out = append(out, fmt.Sprintf("%.2g %% of the packets since its start found the queue full (netdev_max_backlog %d)", 100*part, n.Backlog))
	}
	return out
}

// Compare finds what slows each host and what sets it apart from the others.
func Compare(hosts []Host) Report {
	r := Report{Hosts: slices.Clone(hosts), Findings: []Finding{}}
	var nodes []Host
	for _, h := range hosts {
		if h.Node != nil {
			nodes = append(nodes, h)
		} else {
			r.found([]string{h.Name}, cmp.Or(h.Err, "it did not say anything"))
		}
	}
	byText := map[string]int{}
	for _, h := range nodes {
		for _, text := range h.Node.alone() {
			if at, ok := byText[text]; ok {
				r.Findings[at].Hosts = append(r.Findings[at].Hosts, h.Name)
				continue
			}
			byText[text] = len(r.Findings)
			r.found([]string{h.Name}, text)
		}
	}
	var roles []string
	for _, h := range nodes {
		for _, a := range h.Node.Adapters {
			if !slices.Contains(roles, a.Role) {
				roles = append(roles, a.Role)
			}
		}
	}
	all := lists.Map(nodes, func(h Host) []trait { return h.Node.traits(roles) })
	names := lists.Map(nodes, func(h Host) string { return h.Name })
	for _, what := range traitsOf(all) {
		r.unlike(names, all, what)
	}
	for i := range r.Hosts {
		h := &r.Hosts[i]
		h.Odd = []string{}
		for _, f := range r.Findings {
			if slices.Contains(f.Hosts, h.Name) {
				h.Odd = append(h.Odd, f.Text)
			}
		}
	}
	slices.SortStableFunc(r.Hosts, func(a, b Host) int { return cmp.Compare(min(1, len(b.Odd)), min(1, len(a.Odd))) })
	return r
}

func (r *Report) found(hosts []string, text string) {
	r.Findings = append(r.Findings, Finding{Hosts: hosts, Text: text})
}

// traitsOf lists the traits that any host has, in their order, without values.
func traitsOf(all [][]trait) (out []trait) {
	for _, of := range all {
		for _, t := range of {
			if key := (trait{role: t.role, what: t.what, least: t.least}); !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// unlike finds the hosts whose trait is not that of most others.
func (r *Report) unlike(names []string, all [][]trait, key trait) {
	var of []trait
	var who []string
	for i, traits := range all {
		at := slices.IndexFunc(traits, func(t trait) bool { return t.role == key.role && t.what == key.what })
		if at >= 0 && traits[at].value != "" && (key.least == 0 || traits[at].size > 0) {
			of, who = append(of, traits[at]), append(who, names[i])
		}
	}
	if len(of) < 2 {
		return
	}
	if key.least > 0 {
		r.less(who, of, key)
		return
	}
	groups := lists.Groups(lists.Range[int](len(of)), func(i int) string { return of[i].value })
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	if usual := groups[0]; 2*len(usual) > len(of) {
		for _, g := range groups[1:] {
			others := "the others have"
			if n := len(usual); n+len(g) == len(of) && n > 1 {
				others = fmt.Sprintf("the other %d have", n)
			}
			r.found(pick(who, g), of[g[0]].phrase(others, of[usual[0]].value, len(g) == 1))
		}
	} else if len(groups) > 1 {
		r.found(who, key.what+" differs: "+show.Some(lists.Map(groups, func(g []int) string {
			return hostlist.Compress(pick(who, g)) + " " + of[g[0]].value
		}), mostGroups, "; "))
	}
}

const mostGroups = 4 // with values of their own in one line

func pick(of []string, which []int) []string {
	return lists.Map(which, func(i int) string { return of[i] })
}

// phrase says what sets a trait apart. one: it is that of a single host, whose adapter has a name.
func (t trait) phrase(others, usual string, one bool) string {
	at := ""
	if t.where != "" && (one || t.where == t.role) {
		at = t.where + " "
	}
	switch {
	case t.value == missing:
		return fmt.Sprintf("%s is missing, %s it", t.what, others)
	case usual == missing:
		return fmt.Sprintf("%s is there, %s none", t.what, others)
	}
	return fmt.Sprintf("%s%s %s, %s %s", at, t.what, t.value, others, usual)
}

// less finds the hosts with much less of a trait than the middle of all.
func (r *Report) less(who []string, of []trait, key trait) {
	sizes := lists.Map(of, func(t trait) float64 { return t.size })
	slices.Sort(sizes)
	middle := sizes[len(sizes)/2]
	for i, t := range of {
		if t.size < key.least*middle {
			r.found([]string{who[i]}, fmt.Sprintf("%s %s, %.0f %% of the middle of all", t.what, t.value, 100*t.size/middle))
		}
	}
}

// Answer says which hosts are odd, and how.
func (r Report) Answer() answer.Answer {
	e := answer.Evidence{Findings: lists.Map(r.Findings, func(f Finding) answer.Finding {
		return answer.Finding{Text: f.String(), Place: answer.Below}
	})}
	if len(r.Findings) == 0 && len(r.Hosts) > 0 {
		text := fmt.Sprintf("%d hosts are alike, and nothing is seen that slows them", len(r.Hosts))
		if len(r.Hosts) == 1 {
			text = "nothing is seen that slows this machine; --hosts compares it with others"
		}
		e.Findings = []answer.Finding{{Text: text, Place: answer.At}}
	}
	return answer.Decide(answer.Slow, e)
}

// WriteText writes a line for each adapter of each host, those with findings first.
func (r Report) WriteText(w io.Writer) error {
	rows := [][]string{{
		"host", "adapter", "link", "MTU", "slot", "interrupts", "near", "firmware", "copied", "governor", "huge pages", "backlog",
	}}
	for _, h := range r.Hosts {
		if h.Node == nil {
			rows = append(rows, []string{h.Name, cmp.Or(h.Err, "–")})
			continue
		}
		adapters := h.Node.Adapters
		if len(adapters) == 0 {
			adapters = []Adapter{{}}
		}
		for _, a := range adapters {
			rows = append(rows, lists.Map(append([]string{h.Name}, h.Node.row(a)...), func(s string) string { return cmp.Or(s, "–") }))
		}
	}
	return show.Align(w, rows)
}

// row are the cells of an adapter and its machine; "": not known.
func (n *Node) row(a Adapter) []string {
	var served, copied string
	if a.Interrupts > 0 {
		served = fmt.Sprintf("%d on %d", a.Interrupts, len(a.Served))
	}
	if n.CopyGB > 0 {
		copied = fmt.Sprintf("%.3g GB/s", n.CopyGB)
	}
	return []string{a.Name, a.Rate, size(a.MTU), a.slot(), served, a.Near, a.Firmware, copied, n.Governor, n.HugePages, size(n.Backlog)}
}

// slot is the speed of its lanes and how many are in use.
func (a Adapter) slot() string {
	if a.Width == 0 {
		return ""
	}
	return fmt.Sprintf("%g GT/s x%d", a.Speed, a.Width)
}
