package worker

import (
	"fmt"
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/transport"
)

// fragments are the worker's events under construction and its own fragments. It makes outgoing
// fragments and judges incoming ones.
type fragments struct {
	rank    int
	sizes   *builder.Sizes
	most    int // bytes of the largest
	window  *builder.Window
	asm     *builder.Assembler
	bufs    [][][]byte // [slot][source]; nil: payload is neither kept nor checked
	bytes   []int      // [slot], payload so far
	keep    bool       // fragments land in their event's buffer
	payload bool       // all payload is verified
	stale   uint64     // requests for events of an earlier part of the case
	absence absence

	meter   *meter
	tally   *tally
	ages    *ages
	sources sources
}

// windowSeed makes all workers derive the same payloads. The scenario's seed decides only sizes.
const windowSeed = 1

func newFragments(c wire.Configure, alloc func(int) []byte, slots int, m *meter, t *tally) *fragments {
	sizes := c.FragmentSizes()
	most := sizes.Max()
	p := &fragments{
		rank: c.Rank, sizes: sizes, most: most,
		window: builder.NewWindow(alloc, most, windowSeed),
		asm:    builder.NewAssembler(c.Rank, sizes.Roles, slots),
		bytes:  make([]int, slots),
		keep:   c.Deliver == builder.DeliverBuffer, payload: c.Check == builder.CheckPayload,
		meter: m, tally: t, sources: newSources(c),
	}
	if (p.keep || p.payload) && sizes.Builds(c.Rank) {
		p.bufs = buffers(sizes, slots, p.keep, alloc)
	}
	return p
}

// buffers returns one buffer for each fragment of each slot. Without keep, all slots share one
// buffer for each source: fragments of a source arrive one after another, so none is overwritten
// during its check.
func buffers(sizes *builder.Sizes, slots int, keep bool, alloc func(int) []byte) [][][]byte {
	out, size := make([][][]byte, slots), sizes.Max()
	for slot := range out {
		if slot > 0 && !keep {
			out[slot] = out[0]
			continue
		}
		out[slot] = make([][]byte, sizes.Servers)
		block := alloc(sizes.Sources() * size)
		for source := range out[slot] {
			if sizes.Reads(source) {
				out[slot][source], block = block[:size:size], block[size:]
			}
		}
	}
	return out
}

// buffer returns where to put source's fragment of the event in a slot: into body, or, if payload
// is discarded, nowhere, up to drop bytes.
func (p *fragments) buffer(slot, source int) (body []byte, drop int) {
	if p.bufs == nil {
		return nil, p.most
	}
	return p.bufs[slot][source], 0
}

func (p *fragments) begin(now time.Duration, id uint64, epoch uint32) (slot int, err error) {
	if slot, err = p.open(now, id, epoch); err == nil {
		p.store(slot, id)
	}
	return slot, err
}

// store copies the worker's own fragment of an event to its place.
func (p *fragments) store(slot int, id uint64) {
	if p.keep && p.sizes.Reads(p.rank) {
		copy(p.bufs[slot][p.rank], p.window.Payload(id, p.rank, p.sizes.Of(id, p.rank)))
	}
}

// open begins an event and counts the worker's own fragment, which store has to copy before the event
// is complete.
func (p *fragments) open(now time.Duration, id uint64, epoch uint32) (slot int, err error) {
	slot, err = p.asm.Begin(now, id, epoch)
	if err != nil {
		return 0, err
	}
	if p.bytes[slot] = 0; !p.sizes.Reads(p.rank) {
		return slot, nil
	}
	p.bytes[slot] = p.sizes.Of(id, p.rank)
	own := builder.Header{Kind: builder.Data, Epoch: epoch, Event: id, Source: uint32(p.rank), Dest: uint32(p.rank)}
	p.asm.Add(now, own, true)
	return slot, nil
}

// absent notes that a source has no data for an event and sends nothing. It returns whether the
// event is now complete.
func (p *fragments) absent(now time.Duration, id uint64, epoch uint32, source int) (bool, error) {
	if n := p.sizes.Of(id, source); n > 0 {
		return false, fmt.Errorf("event %d: no fragment of rank %d is planned, which has %d bytes", id, source, n)
	}
	slot := p.asm.Slot(id)
	h := builder.Header{Kind: builder.Data, Epoch: epoch, Event: id, Source: uint32(source), Dest: uint32(p.rank)}
	if p.asm.Add(now, h, true) != builder.Complete {
		return false, nil
	}
	p.complete(now, slot, id)
	return true, nil
}

// outgoing writes the header of the worker's fragment of an event to head and
// returns its payload.
func (p *fragments) outgoing(head []byte, epoch uint32, id uint64, dest int) (body []byte) {
	size := p.sizes.Of(id, p.rank)
	h := builder.Header{
		Kind: builder.Data, Epoch: epoch, Event: id, Source: uint32(p.rank), Dest: uint32(dest),
		Size: uint64(size), Sum: p.window.Sum(id, p.rank, size),
	}
	h.Append(head[:0])
	return p.window.Payload(id, p.rank, size)
}

func (p *fragments) request(head []byte, epoch uint32, id uint64, source int) {
	h := builder.Header{Kind: builder.Request, Epoch: epoch, Event: id, Source: uint32(source), Dest: uint32(p.rank)}
	h.Append(head[:0])
}

// arrived judges a finished receive. The header is valid unless the verdict is Corrupt.
func (p *fragments) arrived(now time.Duration, op *transport.Op) (builder.Header, builder.Verdict) {
	h, err := builder.Parse(op.Head)
	if err != nil {
		p.asm.Spoiled()
		add(&p.meter.corrupt, 1)
		return builder.Header{}, builder.Corrupt
	}
	slot := p.asm.Slot(h.Event) // before Add: a completed event has no slot
	v := p.asm.Add(now, h, p.intact(h, op))
	switch {
	case v.Good():
		p.accept(now, slot, op)
		if v == builder.Complete {
			p.complete(now, slot, h.Event)
		}
	case v == builder.Late:
		add(&p.meter.late, 1)
	case v == builder.Duplicate:
		add(&p.meter.duplicate, 1)
	default:
		add(&p.meter.corrupt, 1)
	}
	return h, v
}

func (p *fragments) accept(now time.Duration, slot int, op *transport.Op) {
	size := op.N
	p.bytes[slot] += size
	p.sources.got(op.Peer, size)
	p.tally.lastReceive(now)
	add(&p.meter.payload, uint64(size))
}

func (p *fragments) complete(now time.Duration, slot int, event uint64) {
	p.tally.built(now)
	p.ages.complete(event, now)
	p.meter.complete(uint64(p.bytes[slot]))
}

// intact reports whether a fragment is what its source must have sent: event and source determine
// the expected header and payload.
func (p *fragments) intact(h builder.Header, op *transport.Op) bool {
	if int(h.Source) != op.Peer || h.Size != uint64(op.N) || op.N != p.sizes.Of(h.Event, op.Peer) {
		return false
	}
	return !p.payload || builder.Checksum(op.Body[:op.N]) == h.Sum && p.window.Sum(h.Event, op.Peer, op.N) == h.Sum
}

func (p *fragments) damage(t *wire.Totals) {
	t.Lost = p.asm.Lost()
	t.Late = p.asm.Count(builder.Late) + p.stale
	t.Duplicate = p.asm.Count(builder.Duplicate)
	t.Corrupt = p.asm.Count(builder.Corrupt)
	for v := builder.WrongEvent; v <= builder.WrongEpoch; v++ {
		t.Stray += p.asm.Count(v)
	}
	p.absence.report(t)
}
