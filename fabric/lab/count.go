package lab

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"evbench/internal/lists"
	"evbench/topology"
)

type traffic struct {
	bytes, packets     uint64 // sent
	txDropped, dropped uint64 // at the send; at the queue
	rxDropped          uint64 // at the receive
}

// Counters returns the traffic of every wire since the lab was built, by wire. With a rate the
// bytes are those of the token bucket, which counts each segment with its headers; without a rate
// they are those of the interface, which counts a large send as one packet.
func (b *Lab) Counters() ([]Count, error) {
	ends := make([][2]traffic, len(b.cables))
	at := lists.Tabulate(len(b.nodes), func(int) map[int]*traffic { return map[int]*traffic{} })
	for i, c := range b.cables {
		for side, e := range c.ends {
			at[e.node][e.index] = &ends[i][side]
		}
	}
	for n := range b.nodes {
		if err := b.nodes[n].count(at[n], b.shape.rate > 0); err != nil {
			return nil, fmt.Errorf("lab: counters of %s: %w", b.names[n], err)
		}
	}
	counts := make([]Count, 2*len(b.cables))
	for i := range b.cables {
		up, down := b.sendingEnds(i)
		counts[2*i] = wireCount(topology.Wire(2*i), ends[i][up], ends[i][down])
		counts[2*i+1] = wireCount(topology.Wire(2*i+1), ends[i][down], ends[i][up])
	}
	return counts, nil
}

// sendingEnds returns which end of a cable sends upwards, away from the servers, and which
// downwards. End 0 is at the leaf, or at the lower of two switches; in a graph the first.
func (b *Lab) sendingEnds(cable int) (up, down int) {
	if cable >= b.low && cable < b.low+b.servers() {
		return 1, 0
	}
	return 0, 1
}

func wireCount(w topology.Wire, from, to traffic) Count {
	return Count{Wire: w, Bytes: from.bytes, Packets: from.packets, Drops: from.dropped + from.txDropped + to.rxDropped}
}

func (c *conn) count(at map[int]*traffic, bucket bool) error {
	links, err := c.handle.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	for _, l := range links {
		if t, s := at[l.Attrs().Index], l.Attrs().Statistics; t != nil && s != nil {
			t.bytes, t.packets = s.TxBytes, s.TxPackets
			t.txDropped, t.rxDropped = s.TxDropped, s.RxDropped
		}
	}
	if !bucket {
		return nil
	}
	qdiscs, err := c.handle.QdiscList(nil)
	if err != nil {
		return fmt.Errorf("list qdiscs: %w", err)
	}
	for _, q := range qdiscs {
		a := q.Attrs()
		t, s := at[a.LinkIndex], a.Statistics
		if t == nil || a.Parent != netlink.HANDLE_ROOT || s == nil || s.Basic == nil || s.Queue == nil {
			continue
		}
		t.bytes, t.packets = s.Basic.Bytes, uint64(s.Basic.Packets)
		t.dropped = uint64(s.Queue.Drops)
	}
	return nil
}
