package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/transport"
)

// configured is a Configure that a worker takes, of three servers.
func configured(mode modes.Mode) wire.Configure {
	c := wire.Configure{
		Run: 1, Rank: 1, Standby: []wire.Path{{Peer: 2, Spine: 3}},
		Row: []wire.Step{{To: 2, ToSpine: 0, From: 0, FromSpine: -1}, {To: 0, ToSpine: -1, From: 2, FromSpine: 7}},
		Case: wire.Case{
			Setting: builder.Setting{Name: "one", Mode: mode, Barrier: "tournament", Credits: 2}, Peers: []wire.Peer{{Server: 4}, {Server: 5}, {Server: 9}},
			Fragment: 1000, Sizes: builder.Distribution{Spread: 0.5}, Common: builder.Common{Seed: 1, Deliver: builder.DeliverBuffer, Check: builder.CheckPayload, Timeout: time.Second, Interval: time.Second},
			Pairs: true,
		},
	}
	if mode == modes.Sync {
		c.AsyncCredits = 2
	}
	return c
}

// What would make the loops panic, or the machine run out of memory, is refused, and the error names the field.
func TestCheckRefuses(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		expect.OK(t, check(configured(mode), 0), "%s", mode)
	}
	for want, change := range map[string]func(c *wire.Configure){
		"peers: 0":                              func(c *wire.Configure) { c.Peers = nil },
		"peers: 65537":                          func(c *wire.Configure) { c.Peers = make([]wire.Peer, 1<<16+1) },
		"rank: -1":                              func(c *wire.Configure) { c.Rank = -1 },
		"rank: 3":                               func(c *wire.Configure) { c.Rank = 3 },
		"fragment: 0":                           func(c *wire.Configure) { c.Fragment = 0 },
		"fragment: -1":                          func(c *wire.Configure) { c.Fragment = -1 },
		"fragment: 1073741825":                  func(c *wire.Configure) { c.Fragment = 1<<30 + 1 },
		"sizes: fragments":                      func(c *wire.Configure) { c.Fragment = 1 << 30 },
		"sizes: spread: 2":                      func(c *wire.Configure) { c.Sizes.Spread = 2 },
		"sizes: fanout: 3, must be 1..2":        func(c *wire.Configure) { c.Sizes.Fanout = 3 },
		"sizes: file: 4 numbers for 3 servers":  func(c *wire.Configure) { c.Sizes = builder.Distribution{Table: []uint32{1, 2, 3, 4}} },
		"sizes: fragments of up to 17179869184": func(c *wire.Configure) { c.Fragment, c.Sizes = 1<<30, builder.Distribution{Kind: builder.Exponential} },
		"credits: 0":                            func(c *wire.Configure) { c.Credits = 0 },
		"credits: 257":                          func(c *wire.Configure) { c.Credits = builder.MaxCredits + 1 },
		"async credits: 5000":                   func(c *wire.Configure) { c.AsyncCredits = 5000 },
		"async credits: -1":                     func(c *wire.Configure) { c.AsyncCredits = -1 },
		"sources: 3":                            func(c *wire.Configure) { c.Sources = 3 },
		"timeout: 0s":                           func(c *wire.Configure) { c.Timeout = 0 },
		"timeout: 2562047h":                     func(c *wire.Configure) { c.Timeout = 1<<63 - 1 },
		"interval: -1ns":                        func(c *wire.Configure) { c.Interval = -1 },
		`mode: "x"`:                             func(c *wire.Configure) { c.Mode, c.AsyncCredits = "x", 0 },
		`deliver: ""`:                           func(c *wire.Configure) { c.Deliver = "" },
		`check: ""`:                             func(c *wire.Configure) { c.Check = "" },
		"standby: rank 1 of 3: rank 3":          func(c *wire.Configure) { c.Standby[0].Peer = 3 },
		"through spine 65537":                   func(c *wire.Configure) { c.Standby[0].Spine = 1<<16 + 1 },
		"row: phase 1: receive from rank -5":    func(c *wire.Configure) { c.Row[1].From = -5 },
		"row: phase 0: send to rank 7":          func(c *wire.Configure) { c.Row[0].To = 7 },
		"row: phase 1: send to rank 2 a second time": func(c *wire.Configure) { c.Row[1].To = 2 },
		"row: rank 0 is left out":                    func(c *wire.Configure) { c.Row = c.Row[1:] },
		"row: phase 0: spines -2 and -1":             func(c *wire.Configure) { c.Row[0].ToSpine = -2 },
		"row: phase 1: spines -1 and 100000":         func(c *wire.Configure) { c.Row[1].FromSpine = 100000 },
		"of memory, there are": func(c *wire.Configure) {
			c.Peers, c.Fragment, c.Sizes.Spread, c.AsyncCredits = make([]wire.Peer, 8), 1<<30, 0, builder.MaxCredits
		},
	} {
		c := configured(modes.Sync)
		change(&c)
		expect.Error(t, check(c, 0), want)
	}
	expect.Error(t, check(configured(modes.Sync), 10_000), "there are 10000")
}

// A counted endpoint says how much memory was asked for.
type counted struct {
	transport.Endpoint
	bytes uint64
}

func (c *counted) Alloc(n int) []byte {
	c.bytes += uint64(n)
	return make([]byte, n)
}

// received is a message as it comes from the controller.
func received[M wire.Message](kind byte, body []byte) (m M, ok bool) {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+2)), wire.Version, kind)
	got, err := wire.Read(bytes.NewReader(append(b, body...)), 1<<20)
	if err != nil {
		return m, false
	}
	return got.(M), true
}

// Whatever a controller asks for, a worker says no or can do it: it takes no more
// memory than was said, and every step has somebody at the other end.
func FuzzConfigure(f *testing.F) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		c := configured(mode)
		u := wire.PlanUpdate{Run: 1, Epoch: 2, From: 5, Row: c.Row}
		if mode == modes.Sync {
			u.Mode = modes.Unsync
		}
		f.Add(marshal(f, c), marshal(f, u))
	}
	f.Fuzz(func(t *testing.T, configure, update []byte) {
		const memory = 1 << 20
		c, ok := received[wire.Configure](4, configure)
		if !ok || check(c, memory) != nil {
			return
		}
		ep := &counted{}
		l := newLoop(c, Connections{Endpoint: ep}, newMailbox(), newReporter(nil, c), nil)
		if ep.bytes > memory+1<<18 { // the window has places beside the largest fragment
			t.Errorf("%d bytes for %+v", ep.bytes, c)
		}
		follow(t, l, c.Row)
		if u, ok := received[wire.PlanUpdate](8, update); ok {
			if ps, err := l.plans.update(&u, c); err == nil {
				follow(t, l, ps[len(ps)-1].row)
			}
		}
	})
}

// follow does what the loops do with each step.
func follow(t *testing.T, l *loop, row []wire.Step) {
	for _, op := range opsOf(row, l.c.Rank, l.roles) {
		op.Head = make([]byte, transport.HeadSize)
		expect.OK(t, op.Check(l.c.Rank, l.n))
		if op.Kind == transport.Recv {
			l.fragments.buffer(0, op.Peer)
			l.fragments.sources.await(op.Peer, 0)
		}
	}
	paths(row, l.n)
	if l.c.Mode == modes.FreeRunning {
		newFreeRunning(l)
	}
	if l.c.Mode == modes.Unsync || l.c.AsyncCredits > 0 {
		newUnsynchronised(l)
	}
}

func marshal(f *testing.F, m wire.Message) []byte {
	b := expect.Value(json.Marshal(m))(f)
	return b
}
