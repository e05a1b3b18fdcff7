package lft

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"evbench/scheduler"
	"evbench/site/network"
)

// A Job says which messages an exchange has.
type Job struct {
	Nodes []network.Node // hosts, by rank
	// Host is the host of each node where some have several, its adapters, which follow one another; nil: each is a
	// host. Messages between adapters of one host pass no link, and are none here.
	Host []int
	// Reads and Builds say which hosts send and receive; nil: all.
	Reads, Builds []bool
	// Skip says which of their messages there are not; nil: none.
	Skip func(src, dst int) bool
	// Drop leaves out messages that the tables do not deliver. Otherwise they are a *LostError.
	Drop bool
}

func (j *Job) meets(src, dst int) bool {
	return !network.OneHost(j.Host, src, dst) && (j.Reads == nil || j.Reads[src]) && (j.Builds == nil || j.Builds[dst]) && (j.Skip == nil || !j.Skip(src, dst))
}

// A LostError is a message that the tables do not deliver.
type LostError struct {
	From, To string
	LID      int
	Fault    Fault
	At       string // where its route ends
}

// Disconnected says that no plan has all messages.
func (e *LostError) Disconnected() {}

func (e *LostError) Error() string {
	return fmt.Sprintf("no message is taken from %s to %s (LID %d): %s at %s", e.From, e.To, e.LID, e.Fault, e.At)
}

// An Exchange is the problem of a job over tables, each of whose messages has one path.
type Exchange struct {
	scheduler.Problem
	Tables *Tables
	Job    Job
	Ports  []network.End // of each link: the port by which messages leave a node
	// Missing are pairs whose messages the tables do not deliver, if they are left out.
	Missing [][2]int32

	alike [][]int // hosts, by number
	begin []int32 // by number of alike hosts and dst: the links between switches are over[begin:begin of the next]
	over  []int32
	lost  []bool // likewise
}

// Exchange follows the tables for all messages: O(leaves · hosts · hops).
func (t *Tables) Exchange(j Job) (*Exchange, error) {
	n := len(j.Nodes)
	x := &Exchange{Tables: t, Job: j, Ports: make([]network.End, 2*n)}
	for i, v := range j.Nodes {
		x.Ports[i], x.Ports[n+i] = network.End{Node: v, Port: 1}, t.Net.Leaf(v)
	}
	x.Hosts, x.Owner = n, j.Host
	x.Meets = func(src, dst int) bool { return j.meets(src, dst) && !x.lost[x.Alike[src]*n+dst] }
	x.Paths = scheduler.One(func(to []int32, src, dst int) []int32 {
		at := x.Alike[src]*n + dst
		return append(to, x.over[x.begin[at]:x.begin[at+1]]...)
	})
	rate := t.Net.MessageRate(j.Nodes)
	x.divide(rate)
	if err := x.follow(); err != nil {
		return nil, err
	}
	for i, at := range x.Ports {
		part := 1.0
		if r := t.Net.Rate(at); rate > 0 && r > 0 {
			part = r / rate
		}
		if i < 2*n {
			x.Links = append(x.Links, scheduler.HostLink(part))
		} else {
			x.Links = append(x.Links, scheduler.LinkOf(part))
		}
	}
	return x, nil
}

// divide numbers the hosts of each switch, those with one rate and the same path bits alike.
func (x *Exchange) divide(rate float64) {
	t := x.Tables
	type key struct {
		leaf network.Node
		rate float64
		bits uint8
	}
	number := map[key]int{}
	for i, v := range x.Job.Nodes {
		k := key{t.Net.Leaf(v).Node, min(rate, t.Net.Rate(network.End{Node: v, Port: 1})), 0}
		if t.Bits != nil {
			k.bits = t.Bits[v]
		}
		if _, there := number[k]; !there {
			number[k], x.alike = len(x.alike), append(x.alike, nil)
		}
		a := number[k]
		x.Alike, x.alike[a] = append(x.Alike, a), append(x.alike[a], i)
	}
}

// follow finds the ways of messages, one for those of hosts that are alike to a host.
func (x *Exchange) follow() error {
	j, alike := &x.Job, x.alike
	n, way, number := x.Hosts, []network.End(nil), make([]*[1 << 8]int32, x.Tables.Net.Nodes()) // by node and port: its number in x.Ports, and 1
	x.begin, x.lost = make([]int32, 1, len(alike)*n+1), make([]bool, len(alike)*n)
	for a, hosts := range alike {
		for dst, to := range j.Nodes {
			first := slices.IndexFunc(hosts, func(src int) bool { return j.meets(src, dst) })
			if first >= 0 {
				var err error
				if way, err = x.Tables.Way(way[:0], j.Nodes[hosts[first]], to); err != nil && !j.Drop {
					return err
				}
				for _, e := range way[:max(0, len(way)-1)] { // the last leads to the host
					if number[e.Node] == nil {
						number[e.Node] = new([1 << 8]int32)
					}
					id := &number[e.Node][e.Port]
					if *id == 0 {
						x.Ports = append(x.Ports, e)
						*id = int32(len(x.Ports))
					}
					x.over = append(x.over, *id-1)
				}
				if err != nil {
					x.lost[a*n+dst] = true
					for _, src := range hosts[first:] {
						if j.meets(src, dst) {
							x.Missing = append(x.Missing, [2]int32{int32(src), int32(dst)})
						}
					}
				}
			}
			x.begin = append(x.begin, int32(len(x.over)))
		}
	}
	return nil
}

// Way appends to way the ports by which the message of a host to another leaves switches, the last to the host. A message that is lost
// is a *LostError.
func (t *Tables) Way(way []network.End, src, dst network.Node) ([]network.End, error) {
	lid, from := t.LID(src, dst), len(way)
	way, fault := t.AppendRoute(way, src, lid)
	if fault == NoFault {
		return way, nil
	}
	at := t.Net.Name(src)
	if leaf := t.Net.Leaf(src).Node; leaf != network.NoNode {
		at = t.Net.Name(leaf)
	}
	if k := len(way); k > from {
		at = t.Net.EndName(way[k-1])
		if next := t.Net.At(way[k-1].Node, int(way[k-1].Port)).Node; fault == NoEntry && next != network.NoNode {
			at = t.Net.Name(next)
		}
	}
	return way[:from], &LostError{t.Net.Name(src), t.Net.Name(dst), lid, fault, at}
}

// Sum is the digest of all that tables say about the messages: of lines "host RANK GUID LID SWITCH PORT", with switch
// and port 0 for a host without a cable, then, sorted, "SWITCH LID PORT" for each entry that a message needs; switches
// are GUIDs.
func (x *Exchange) Sum() string {
	t, nodes := x.Tables, x.Job.Nodes
	type entry struct {
		guid uint64
		lid  int
		port uint8
	}
	var entries []entry
	lids := 1 // of a destination that messages go to, at most
	for _, bits := range t.Bits {
		lids = max(lids, 1+int(bits))
	}
	seen := make([]int, t.Net.Switches()*lids)
	for dst, to := range nodes {
		for _, hosts := range x.alike {
			if !slices.ContainsFunc(hosts, func(src int) bool { return x.Meets(src, dst) }) {
				continue
			}
			lid := t.LID(nodes[hosts[0]], to)
			for at := t.Net.Leaf(nodes[hosts[0]]).Node; !t.Net.IsHost(at); {
				mark := &seen[t.Net.Index(at)*lids+lid-int(t.Net.Info(to).LID)]
				if *mark == dst+1 {
					break
				}
				*mark = dst + 1
				port := t.Port(at, lid)
				entries = append(entries, entry{t.Net.Key(at), lid, port})
				at = t.Net.At(at, int(port)).Node
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.guid, b.guid), a.lid-b.lid) })
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	for i, v := range nodes {
		leaf, guid := t.Net.Leaf(v), uint64(0)
		if leaf.Node != network.NoNode {
			guid = t.Net.Key(leaf.Node)
		}
		fmt.Fprintf(out, "host %d %016x %d %016x %d\n", i, t.Net.Key(v), t.Net.Info(v).LID, guid, leaf.Port)
	}
	for _, e := range entries {
		fmt.Fprintf(out, "%016x %d %d\n", e.guid, e.lid, e.port)
	}
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
