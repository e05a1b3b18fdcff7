package judge

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Network is one of any shape as plans over tables are judged on it.
type Network struct {
	Nodes  []Node // hosts, then switches
	Hosts  int
	TopLID int // the highest
}

// A Node is a host, whose only port is 1, or a switch.
type Node struct {
	Name     string
	GUID     uint64 // of a host's port, or of a switch
	LID, LMC int
	Ports    []Port // from port 1
}

// A Port is the far end of a cable, and its rate.
type Port struct {
	Node, Port int     // Node is -1 without a cable
	Rate       float64 // bit/s; 0: not known
}

// Tables are forwarding tables that the judge has read itself: by switch and LID the port.
type Tables struct {
	net   *Network
	port  [][]uint8 // by node; 255 and none: no entry
	bits  []int     // by node: what a source adds to the first LID of a destination; nil: nothing
	first []int32   // by node: the link at its port 1; one more than nodes
	owner []int32   // by link
	way   []int32   // memory of walk

	Nodes []int     // the hosts of a plan, by rank
	share []float64 // by link: its rate over that of a message, whole above 1
}

// ReadTables reads the text of OpenSM's forwarding tables.
func ReadTables(n *Network, r io.Reader) (*Tables, error) {
	guids := map[uint64]int{}
	for i := n.Hosts; i < len(n.Nodes); i++ {
		guids[n.Nodes[i].GUID] = i
	}
	t, at, inside := &Tables{net: n, port: make([][]uint8, len(n.Nodes))}, 0, false
	for v, node := range n.Nodes {
		t.first = append(t.first, int32(len(t.owner)))
		t.owner = append(t.owner, slices.Repeat([]int32{int32(v)}, len(node.Ports))...)
	}
	t.first = append(t.first, int32(len(t.owner)))
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for number := 1; in.Scan(); number++ {
		line := in.Text()
		if strings.HasPrefix(line, "Unicast lids") {
			_, rest, _ := strings.Cut(line, " guid ")
			word, _, _ := strings.Cut(rest, " ")
			guid, err := strconv.ParseUint(word, 0, 64)
			if at, inside = guids[guid]; !inside || err != nil {
				return nil, fmt.Errorf("line %d: no switch of the network has the GUID %q", number, word)
			}
			t.port[at] = slices.Repeat([]uint8{255}, n.TopLID+1)
			continue
		}
		if !inside || !strings.HasPrefix(line, "0x") {
			continue
		}
		words := strings.Fields(line)
		lid, err := strconv.ParseUint(words[0], 0, 16)
		if err == nil && len(words) > 1 && int(lid) <= n.TopLID {
			if port, err := strconv.ParseUint(words[1], 10, 8); err == nil {
				t.port[at][lid] = uint8(port)
			}
		}
	}
	return t, in.Err()
}

// TablesOf reads the tables on which a plan is judged, and finds its hosts in the network.
func (f *File) TablesOf(n *Network, tables io.Reader) (*Tables, error) {
	t, err := ReadTables(n, tables)
	if err != nil {
		return nil, err
	}
	by := map[uint64]int{}
	for v, host := range n.Nodes[:n.Hosts] {
		by[host.GUID] = v
	}
	nodes := make([]int, len(f.Over.GUIDs))
	for i, g := range f.Over.GUIDs {
		v, there := by[g]
		if !there {
			return nil, fmt.Errorf("host %d has the GUID 0x%016x, which no host of the network has", i, g)
		}
		nodes[i] = v
	}
	if f.Over.Bits != nil {
		t.bits = make([]int, len(n.Nodes))
		for i, v := range nodes {
			t.bits[v] = f.Over.Bits[i]
		}
	}
	t.take(nodes)
	return t, nil
}

// take takes hosts, and from them the rate of a message: the most frequent of their cables, or of those between switches.
func (t *Tables) take(nodes []int) {
	var own, between []float64
	for _, v := range nodes {
		if ports := t.net.Nodes[v].Ports; len(ports) > 0 {
			own = append(own, ports[0].Rate)
		}
	}
	for v, node := range t.net.Nodes {
		for port, p := range node.Ports {
			if v >= t.net.Hosts && (p.Node > v || p.Node == v && p.Port > port+1) {
				between = append(between, p.Rate)
			}
		}
	}
	message := cmp.Or(usual(own), usual(between))
	t.Nodes, t.share = nodes, make([]float64, len(t.owner))
	for l, v := range t.owner {
		p := t.net.Nodes[v].Ports[l-int(t.first[v])]
		switch {
		case message == 0 || p.Rate == 0:
			t.share[l] = 1
		case p.Rate < message:
			t.share[l] = p.Rate / message
		case int(v) < t.net.Hosts || p.Node < t.net.Hosts: // no host takes more than one message at a time
			t.share[l] = 1
		default:
			t.share[l] = math.Floor(p.Rate/message + 0.05)
		}
	}
}

// usual is the most frequent rate, the highest of several; 0 if fewer than half are known.
func usual(rates []float64) (out float64) {
	count, known := map[float64]int{}, 0
	for _, x := range rates {
		if x > 0 {
			count[x]++
			known++
		}
	}
	for x, n := range count {
		if n > count[out] || n == count[out] && x > out {
			out = x
		}
	}
	if 2*known < len(rates) {
		return 0
	}
	return out
}

// name is the port by which messages leave a node: "s1_0/5", of a host "h0".
func (t *Tables) name(link int32) string {
	v := t.owner[link]
	if int(v) < t.net.Hosts {
		return t.net.Nodes[v].Name
	}
	return t.end(link)
}

// end is the port of a link, of a host, too: "h0/1".
func (t *Tables) end(link int32) string {
	v := t.owner[link]
	return fmt.Sprintf("%s/%d", t.net.Nodes[v].Name, link-t.first[v]+1)
}

// far is the far end of a link: -1 without a cable.
func (t *Tables) far(link int32) int {
	return t.net.Nodes[t.owner[link]].Ports[link-t.first[t.owner[link]]].Node
}

// walk returns the links of a message until the next call, or nil if it does not arrive. The first is the source's.
func (t *Tables) walk(src, dst int) []int32 {
	if len(t.net.Nodes[src].Ports) == 0 {
		return nil
	}
	out := append(t.way[:0], t.first[src])
	defer func() { t.way = out }()
	lid := t.net.Nodes[dst].LID + t.offset(src, dst)
	for at := t.far(out[0]); len(out) <= len(t.net.Nodes)-t.net.Hosts+1; {
		if at < t.net.Hosts || at >= len(t.port) || t.port[at] == nil || lid >= len(t.port[at]) {
			return nil
		}
		port := int(t.port[at][lid])
		if port == 0 || port > len(t.net.Nodes[at].Ports) {
			return nil
		}
		out = append(out, t.first[at]+int32(port)-1)
		if at = t.far(out[len(out)-1]); at == dst {
			return out
		}
	}
	return nil
}

// offset is what src adds to the first LID of dst: as many of its path bits as dst has (LMC).
func (t *Tables) offset(src, dst int) int {
	if t.bits == nil || t.net.Nodes[dst].LID == 0 {
		return 0
	}
	return t.bits[src] % (1 << t.net.Nodes[dst].LMC)
}

// sum is the digest of what the tables say about the messages of a plan, as docs/reference/files.md defines it.
func (t *Tables) sum(meets func(src, dst int) bool) string {
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	for i, v := range t.Nodes {
		at, guid := Port{Node: -1}, uint64(0)
		if host := t.net.Nodes[v]; len(host.Ports) > 0 {
			at = host.Ports[0]
		}
		if at.Node >= 0 {
			guid = t.net.Nodes[at.Node].GUID
		}
		fmt.Fprintf(out, "host %d %016x %d %016x %d\n", i, t.net.Nodes[v].GUID, t.net.Nodes[v].LID, guid, at.Port)
	}
	type entry struct {
		guid      uint64
		lid, port int
	}
	var lines []entry
	seen, passed := make([]int32, len(t.owner)), int32(0) // by link: the last LID whose messages pass it
	for j, dst := range t.Nodes {
		for offset := range 1 << t.net.Nodes[dst].LMC {
			passed++
			for i, src := range t.Nodes {
				if !meets(i, j) || t.offset(src, dst) != offset {
					continue
				}
				way := t.walk(src, dst)
				for _, l := range way[min(1, len(way)):] {
					if seen[l] != passed {
						seen[l] = passed
						v := t.owner[l]
						lines = append(lines, entry{t.net.Nodes[v].GUID, t.net.Nodes[dst].LID + offset, int(l-t.first[v]) + 1})
					}
				}
			}
		}
	}
	slices.SortFunc(lines, func(a, b entry) int { return cmp.Or(cmp.Compare(a.guid, b.guid), a.lid-b.lid) })
	for _, e := range lines {
		fmt.Fprintf(out, "%016x %d %d\n", e.guid, e.lid, e.port)
	}
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
