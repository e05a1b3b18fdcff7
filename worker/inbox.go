package worker

import (
	"time"

	"evbench/builder"
	"evbench/transport"
)

type await struct {
	event  uint64
	slot   int
	source int
	body   []byte
	drop   int // bytes to discard, if there is no body
	asked  time.Duration
	used   bool
	owed   bool // its event is closed without the fragment
	head   [transport.HeadSize]byte
}

// An inbox keeps the receives of the modes without barrier. A receive is posted into the buffer of
// its expected event. If another event's fragment arrives, the two events swap buffers instead of
// copying.
type inbox struct {
	fragments *fragments
	awaits    []await
	free      []int
	left      []int // [slot] receives that are still posted
	owes      []int // [source] receives whose events are closed
}

func newInbox(p *fragments, slots int) *inbox {
	b := &inbox{fragments: p, awaits: make([]await, slots*p.sizes.Servers), left: make([]int, slots), owes: make([]int, p.sizes.Servers)}
	for i := range b.awaits {
		b.free = append(b.free, i)
	}
	return b
}

// expect returns the operation that receives source's fragment of an event, asked for now.
func (b *inbox) expect(now time.Duration, slot int, event uint64, source, path int) transport.Op {
	i := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	w := &b.awaits[i]
	w.event, w.slot, w.source, w.asked, w.used = event, slot, source, now, true
	w.body, w.drop = b.fragments.buffer(slot, source)
	b.left[slot]++
	return b.op(i, path)
}

func (b *inbox) op(i, path int) transport.Op {
	w := &b.awaits[i]
	return transport.Op{
		Kind: transport.Recv, Peer: w.source, Path: path, ID: uint64(i), Head: w.head[:], Body: w.body, Drop: w.drop,
	}
}

// A gain is the effect of a finished receive on its event.
type gain struct {
	event  uint64
	slot   int
	source int
	asked  time.Duration
	again  bool // the fragment was not the awaited one: post the receive again
	whole  bool // the event is complete
	spent  bool // no fragment is outstanding, and the event is incomplete
}

func (b *inbox) took(now time.Duration, op *transport.Op) gain {
	i := int(op.ID)
	w := &b.awaits[i]
	h, v := b.fragments.arrived(now, op)
	switch {
	case v.Good():
		if h.Event != w.event {
			b.swap(w, h.Event)
		}
	case v == builder.Corrupt, v == builder.WrongEpoch && h.Event == w.event:
	default:
		return gain{event: w.event, slot: w.slot, source: w.source, again: true}
	}
	g := gain{event: w.event, slot: w.slot, source: w.source, asked: w.asked, whole: v == builder.Complete}
	w.used = false
	b.free = append(b.free, i)
	b.left[w.slot]--
	g.spent = b.left[w.slot] == 0 && !g.whole
	return g
}

// swap exchanges the events of w and of the receive that expects the given event from the same
// source.
func (b *inbox) swap(w *await, event uint64) {
	for i := range b.awaits {
		o := &b.awaits[i]
		if !o.used || o.event != event || o.source != w.source {
			continue
		}
		if bufs := b.fragments.bufs; bufs != nil {
			bufs[w.slot][w.source], bufs[o.slot][o.source] = bufs[o.slot][o.source], bufs[w.slot][w.source]
		}
		w.event, o.event = o.event, w.event
		w.slot, o.slot = o.slot, w.slot
		w.owed, o.owed = o.owed, w.owed
		return
	}
}
