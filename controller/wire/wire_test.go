package wire_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/scheduler"
	"evbench/testing/expect"
)

// all holds one of each message, with every field set.
var all = []wire.Message{
	wire.Hello{Nonce: "00ff", Proof: "1234", Server: 17, Data: "10.0.0.1:7000", PID: 99, Host: results.Host{
		Host: "node1", Version: "v1", Interface: "ib0", NIC: "mlx5_core, pci 0000:3b:00.0", SpeedMbit: 100000, MTU: 2044,
		Governor: "performance", CPU: "Fast 9000", Cores: 32, CPUs: "0-15", Kernel: "Linux 6.1.0",
	}},
	wire.Welcome{Proof: "5678"},
	wire.Refused{Reason: "wrong token"},
	wire.Configure{
		Run: 3, Rank: 1, Standby: []wire.Path{{Peer: 0, Spine: -1}},
		Row: []wire.Step{{To: 0, ToSpine: 3, From: wire.Idle, FromSpine: -1}},
		Case: wire.Case{
			Setting: builder.Setting{Name: "shift", Mode: modes.Sync, Barrier: "tournament", Sources: 2, Credits: 4}, Repeat: 1, Epoch: 2,
			Peers:    []wire.Peer{{Server: 4, Addrs: []string{"a:1", "b:2"}}, {Server: 9, Addrs: []string{"c:3"}}},
			Fragment: 625000, Sizes: builder.Distribution{Spread: 0.25, By: builder.BySource}, Common: builder.Common{Seed: 1<<64 - 1, Warmup: 1, Deliver: builder.DeliverBuffer, Check: builder.CheckPayload, Timeout: time.Second, Interval: time.Minute}, AsyncCredits: 3,
			Pairs: true,
		},
	},
	wire.Ready{Run: 3},
	wire.Grant{Run: 3, Until: 12},
	wire.Measure{Run: 3, First: 1 << 40},
	wire.PlanUpdate{Run: 3, Epoch: 4, From: 20, Mode: modes.Unsync, Row: []wire.Step{{To: 1, ToSpine: 2, From: 3, FromSpine: 4}}},
	wire.Updated{Run: 3, Epoch: 4},
	wire.Assign{Run: 3, Events: []uint64{1, 1 << 63}},
	wire.Completed{Run: 3, Built: []uint64{5, 6}, Lost: []uint64{7}},
	wire.Progress{Run: 3, Exchange: 1 << 60},
	wire.Samples{Run: 3, Sample: results.Sample{Case: "shift", Server: 4, Events: 7, GoodputBitPerSec: 1e9}},
	wire.Abort{Run: 3},
	wire.Finished{Run: 3, Aborted: true, At: wire.Position{Exchange: 1, Phase: 2, Stage: wire.StageBarrier, Peers: []int{3}}, Totals: wire.Totals{
		Exchanges: 1, Events: 2, Done: []wire.Range{{From: 0, To: 9}}, SentBytes: 3, FirstSend: 4, LastReceive: 5, Lost: 6, Stray: 7, Tokens: 9,
		Sources: []wire.Source{{}, {Bytes: 1<<64 - 1, Took: 1<<63 - 1}},
		Load:    &results.Load{Host: "node1", Cores: 2, WallSec: 1.5, CPUSec: new(1.0), OthersSec: new(0.0), RunDelaySec: new(2.5)},
		Took:    wire.Took{Stride: 4, Events: 6, Durations: []time.Duration{1<<63 - 1, 0}},
	}},
	wire.Error{Run: 3, At: wire.Position{
		Phase: -1, Awaits: []wire.Token{{Rank: 2, Window: 1 << 40, Send: 5}}, Told: []wire.Token{{Rank: 1}},
	}, Stuck: true, Text: "no word"},
	wire.Ping{}, wire.Pong{Moves: 1 << 63}, wire.Quit{}, wire.Finish{Run: 3}, wire.Release{Run: 3},
	wire.Probe{Run: 3, Peer: 17, Data: "10.0.0.1:7000,10.1.0.1:7000", Routers: true},
	wire.Probed{Run: 3, Peer: 17, Reached: []wire.Reach{{Addr: "10.0.0.1:7000", Hops: 3, RTT: 17000, Router: "172.16.0.1"}, {Addr: "10.1.0.1:7000", Err: "connection refused", Hops: -1}}},
	wire.Hold{Run: 3, Epoch: 2, Mode: "synchronised", Row: wire.Steps{{To: 1, ToSpine: 2, From: wire.Idle}}}, wire.Held{Run: 3, Begun: 21, Has: true},
	wire.Challenge{Nonce: "ffee"}, wire.Patience{Run: 3, For: time.Minute},
	wire.Window{
		Run: 3, Epoch: 4, From: 1 << 60, Count: 3, Quiet: true, Sends: wire.Turns{{Exchange: 2, To: 1, Spine: -1, Await: []int{7, 0}}, {}},
		Takes: wire.Takes{{Exchange: 1, From: 9, Spine: 3}}, Tells: wire.Tells{{After: -1, To: 4095, Send: 12}},
	},
	wire.Trace{Run: 3, Gap: 1e6, Trails: []wire.Trail{{From: "10.0.0.1", To: "10.0.0.2:7000", Port: 20011, First: 2, Last: 9}}},
	wire.Traced{Run: 3, Seen: []wire.Seen{{Hops: []string{"172.16.0.1", ""}, Reached: true}, {InUse: true}, {Err: "no route"}}},
}

func encode(t testing.TB, m wire.Message) []byte {
	t.Helper()
	b := expect.Value(wire.Append(nil, m))(t)
	return b
}

func TestRoundTrip(t *testing.T) {
	var stream bytes.Buffer
	for _, m := range all {
		stream.Write(encode(t, m))
	}
	for _, want := range all {
		got, err := wire.Read(&stream, wire.MaxFrame)
		expect.True(t, err == nil && reflect.DeepEqual(got, want), "got %+v, %v; want %+v", got, err, want)
	}
	expect.Is(t, expect.Err(wire.Read(&stream, wire.MaxFrame)), io.EOF)
}

// What a worker says of a case names the case, so that it is not taken for one of the next.
func TestReplies(t *testing.T) {
	var names []string
	for _, m := range all {
		if r, ok := m.(wire.Reply); ok {
			names = append(names, reflect.TypeOf(m).Name())
			expect.Equal(t, r.RunNumber(), 3, "%T", m)
		}
	}
	expect.Equal(t, strings.Join(names, " "), "Ready Updated Completed Progress Samples Finished Error Held", "replies")
}

// The counts of 4,096 servers fit a frame many times over, and a number that is no count is refused.
func TestSources(t *testing.T) {
	m := wire.Finished{Run: 1, Totals: wire.Totals{Sources: make([]wire.Source, 4096)}}
	for i := range m.Totals.Sources {
		m.Totals.Sources[i] = wire.Source{Bytes: 1<<64 - 1, Took: 1<<63 - 1}
	}
	b := encode(t, m)
	got, err := wire.Read(bytes.NewReader(b), 300_000)
	expect.True(t, err == nil && reflect.DeepEqual(got, m), "%d bytes: %v", len(b), err)
	b = bytes.Replace(encode(t, wire.Finished{Totals: wire.Totals{Sources: []wire.Source{{Bytes: 7}}}}), []byte(`"b":7`), []byte(`"b":-`), 1)
	expect.Is(t, expect.Err(wire.Read(bytes.NewReader(b), wire.MaxFrame)), wire.ErrFrame)
}

// The type numbers are part of the protocol.
func TestTypeNumbers(t *testing.T) {
	for i, m := range all {
		expect.Equal(t, int(encode(t, m)[5]), i+1, "%T has number", m)
	}
}

// A frame that is not one of ours is refused with the reason.
func TestReadRefuses(t *testing.T) {
	frame := func(n uint32, version, kind byte, body string) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, n), version, kind), body...)
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  error
		text  string
	}{
		{"other version", frame(4, 1, 17, "{}"), wire.ErrVersion, fmt.Sprint("version 1, want ", wire.Version)},
		{"a stranger", []byte("GET / HTTP/1.1\r\n\r\n"), wire.ErrVersion, ""},
		{"length below a head", frame(1, wire.Version, 17, ""), wire.ErrFrame, "length 1"},
		{"length above the limit", frame(1001, wire.Version, 17, "{}"), wire.ErrFrame, "length 1001"},
		{"largest length", frame(1<<32-1, wire.Version, 17, "{}"), wire.ErrFrame, "length 4294967295"},
		{"cut short", frame(900, wire.Version, 17, "{}"), io.ErrUnexpectedEOF, "body of 898 bytes"},
		{"no such type", frame(4, wire.Version, 0, "{}"), wire.ErrFrame, "type 0"},
		{"no such type either", frame(4, wire.Version, 200, "{}"), wire.ErrFrame, "type 200"},
		{"unknown field", frame(9, wire.Version, 17, `{"x":1}`), wire.ErrFrame, "unknown field"},
		{"not an object", frame(4, wire.Version, 17, `[]`), wire.ErrFrame, "Ping"},
		{"two values", frame(6, wire.Version, 17, `{}{}`), wire.ErrFrame, "more than one"},
		{"number out of range", frame(12, wire.Version, 5, `{"Run":-1}`), wire.ErrFrame, "Ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := wire.Read(bytes.NewReader(tt.bytes), 1000)
			expect.True(t, errors.Is(err, tt.want) && strings.Contains(err.Error(), tt.text),
				"Read = %v, %v; want %v with %q", m, err, tt.want, tt.text)
		})
	}
}

// Who claims a long frame and sends little costs little memory.
func TestClaimedLengthIsNotAllocated(t *testing.T) {
	b := append(binary.BigEndian.AppendUint32(nil, wire.MaxFrame), wire.Version, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	expect.Is(t, expect.Err(wire.Read(bytes.NewReader(b), wire.MaxFrame)), io.ErrUnexpectedEOF)
	runtime.ReadMemStats(&after)
	n := after.TotalAlloc - before.TotalAlloc
	expect.True(t, n <= 1<<20, "%d bytes allocated", n)
}

func TestAppendPanicsOnStrangers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = wire.Append(nil, 7)
}

// Rows come out as they went in, and what is no row is refused.
func TestSteps(t *testing.T) {
	for _, want := range []wire.Steps{nil, {}, {{}}, {{To: wire.Idle, ToSpine: -1, From: 1<<31 - 1, FromSpine: 0}, {To: 4095, ToSpine: 63, From: 64, FromSpine: -1}}} {
		m := wire.PlanUpdate{Row: want}
		got, err := wire.Read(bytes.NewReader(encode(t, m)), wire.MaxFrame)
		expect.True(t, err == nil && reflect.DeepEqual(got, m), "%#v became %#v, %v", m, got, err)
	}
	for _, bad := range []string{`7`, `[]`, `"?"`, `"AAA="`, `"AAAA"`, `"AAAAgA=="`, `"gICAgICAAQAAAA=="`} {
		body := `{"Row":` + bad + `}`
		frame := append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+2)), wire.Version, 8), body...)
		if m, err := wire.Read(bytes.NewReader(frame), 1000); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("%s: %v, %v", bad, m, err)
		}
	}
}

// Parts of a window come out as they went in, and what is none is refused: an await that
// claims more ranks than follow, too.
func TestWindows(t *testing.T) {
	for _, want := range []wire.Window{{}, {Sends: wire.Turns{}, Takes: wire.Takes{}, Tells: wire.Tells{}}, {
		Sends: wire.Turns{{Exchange: 3, To: 1<<31 - 1, Spine: -1, Await: []int{4095, 0, 1}}, {To: 1}, {Await: []int{2}}},
		Takes: wire.Takes{{}, {Exchange: 3, From: 2, Spine: -1}}, Tells: wire.Tells{{After: -1 << 31, To: 2, Send: 9}, {}},
	}} {
		got, err := wire.Read(bytes.NewReader(encode(t, want)), wire.MaxFrame)
		expect.True(t, err == nil && reflect.DeepEqual(got, want), "%#v became %#v, %v", want, got, err)
	}
	for _, bad := range []string{`"Sends":"AAAA"`, `"Sends":"AAAAAg=="`, `"Sends":"AAAAAQ=="`, `"Sends":"AAAA/////w8A"`, `"Takes":"AAA="`, `"Tells":[1]`} {
		frame := append(append(binary.BigEndian.AppendUint32(nil, uint32(len(bad)+4)), wire.Version, 28), "{"+bad+"}"...)
		m, err := wire.Read(bytes.NewReader(frame), 1000)
		expect.True(t, errors.Is(err, wire.ErrFrame), "%s: %v, %v", bad, m, err)
	}
}

// A step of a schedule is a step on the wire.
func TestStepConverts(t *testing.T) {
	got := wire.Step(scheduler.Step{To: 1, ToSpine: 2, From: scheduler.Idle, FromSpine: scheduler.None})
	expect.True(t, got == (wire.Step{To: 1, ToSpine: 2, From: wire.Idle, FromSpine: -1}), "got %+v", got)
}

func FuzzRead(f *testing.F) {
	for _, m := range all {
		f.Add(encode(f, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Read(bytes.NewReader(b), 1<<16)
		if err != nil {
			return
		}
		again, err := wire.Read(bytes.NewReader(encode(t, m)), wire.MaxFrame)
		expect.True(t, err == nil && reflect.DeepEqual(again, m), "%+v became %+v, %v", m, again, err)
	})
}

func TestListenAndDial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control")
	for _, addr := range []string{"unix:" + path, "tcp:127.0.0.1:0", "tls:127.0.0.1:0"} {
		l := expect.Value(wire.Listen(addr))(t)
		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := l.Accept()
			expect.OK(t, err)
			if c, ok := c.(*tls.Conn); ok {
				expect.OK(t, c.Handshake())
			}
			accepted <- c
		}()
		c := expect.Value(wire.Dial(t.Context(), l.Addr().Network()+":"+l.Addr().String()))(t)
		other := wire.NewConn(<-accepted, wire.MaxFrame)
		expect.OK(t, c.Send(wire.Grant{Until: 7}))
		m, err := other.Receive()
		expect.True(t, err == nil && m.(wire.Grant).Until == 7, "%s: received %v, %v", addr, m, err)
		if strings.HasPrefix(addr, "unix") {
			s, err := os.Stat(path)
			expect.True(t, err == nil && s.Mode().Perm() == 0o600, "socket %v, %v; want only the user to reach it", s, err)
		}
		expect.OK(t, errors.Join(c.Close(), other.Close(), l.Close()))
	}
}

func TestBadAddress(t *testing.T) {
	for _, addr := range []string{"", "tcp", "tcp:", "tls:", "udp:x:1", "/tmp/x"} {
		expect.Is(t, expect.Err(wire.Listen(addr)), wire.ErrAddress)
		expect.Is(t, expect.Err(wire.Dial(t.Context(), addr)), wire.ErrAddress)
	}
}
