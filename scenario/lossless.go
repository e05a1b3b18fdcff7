package scenario

import (
	"errors"
	"fmt"
	"time"

	"evbench/internal/unit"
)

// A Lossless describes a network with credits, such as InfiniBand. evbench sim needs it for the
// model credit.
type Lossless struct {
	On     bool       // fabric.lossless is given, and not false
	Packet unit.Bytes // of messages, without packet headers
	Buffer unit.Bytes // of an input port and lane
	Lanes  int        // of an input port, that any packet may take
	Queues string     // QueuesFIFO or QueuesPerOutput
	Reads  int        // packets that leave an input port at a time, with QueuesPerOutput; 0: any number
	Delay  time.Duration
	Cable  time.Duration // that bits take from end to end
	Order  string        // in which a server sends fragments: OrderTurns or OrderFirst
}

// The queueing of packets at an input port, and the order in which a server sends the requested
// fragments.
const (
	QueuesFIFO      = "fifo"
	QueuesPerOutput = "per-output"

	OrderTurns = "turns" // a packet of each in turn, as queue pairs do
	OrderFirst = "first" // one after the other
)

// DefaultLossless is one lane of a typical 200 Gbit/s switch; docs/reference/lossless.md gives the
// source of each number.
func DefaultLossless() Lossless {
	return Lossless{
		Packet: 4096, Buffer: 64 << 10, Lanes: 1, Queues: QueuesFIFO, Reads: 3,
		Delay: 130 * time.Nanosecond, Cable: 50 * time.Nanosecond, Order: OrderTurns,
	}
}

func (d *document) lossless(at field) Lossless {
	x := DefaultLossless()
	if !at.Given() {
		return x
	}
	if at.Single() {
		d.scalar(at, onOff(&x.On))
		return x
	}
	x.On = true
	if _, good := d.section(at, losslessFields(&x)); good && x.Buffer < x.Packet {
		d.Fail(at, "a buffer of %s has no room for a packet of %s", x.Buffer, x.Packet)
	}
	return x
}

// suitsLossless says whether the fabric can be lossless as requested. Only the emulation implements
// it; others leave it to simulations.
func (f Fabric) suitsLossless() error {
	x := f.Lossless
	if f.Kind == Emulate && x.On && (x.Lanes > 1 || x.Queues != QueuesFIFO || x.Order != OrderTurns) {
		return errors.New("an emulated fabric has one lane, a FIFO at each input, and servers that send in turns; leave lanes, queues and order out")
	}
	return nil
}

// Scale sets the size of packets, and keeps the number of packets in a buffer.
func (x *Lossless) Scale(packet unit.Bytes) error {
	if packet < minPacket || packet > maxPacket {
		return fmt.Errorf("%s: must be %s to %s", packet, minPacket, maxPacket)
	}
	x.Packet, x.Buffer = packet, unit.Bytes(float64(x.Buffer)/float64(x.Packet)*float64(packet)+0.5)
	return nil
}
