package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"evbench/internal/unit"
)

// iperfTest is one document of iperf3 -J, or an event of --json-stream.
type iperfTest struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	Error string          `json:"error"`
	Start iperfStart      `json:"start"`
	End   iperfEnd        `json:"end"`
}

type iperfStart struct {
	Version   string `json:"version"`
	Connected []struct {
		Local string `json:"local_host"`
	} `json:"connected"`
	SystemInfo   string `json:"system_info"`
	ConnectingTo struct {
		Host string `json:"host"`
	} `json:"connecting_to"`
	Timestamp struct {
		Secs   float64 `json:"timesecs"`
		Millis float64 `json:"timemillisecs"`
	} `json:"timestamp"`
	TestStart struct {
		Protocol string  `json:"protocol"`
		Omit     float64 `json:"omit"`
		Reverse  int     `json:"reverse"`
		Target   int64   `json:"target_bitrate"` // of a stream, 0: none
	} `json:"test_start"`
}

type iperfEnd struct {
	Received iperfSum `json:"sum_received"`
	Back     iperfSum `json:"sum_received_bidir_reverse"`
}

type iperfSum struct {
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"bits_per_second"`
}

// readIperf3 reads what clients of iperf3 print with -J, one document after another, or with
// --json-stream; checked against the source of iperf 3.1, 3.9, 3.16 and 3.21 (2026), which all have
// these fields, and what 3.12 prints of TCP, UDP, -P, -R, --bidir, -O and errors. Of UDP before 3.2 there is no
// sum_received. Later ones say the target of -b, and (2025) to a millisecond when a test began:
//
//	{"start": {"version": "iperf 3.17", "system_info": "Linux node1 6.1.0 …",
//	           "connecting_to": {"host": "node2", "port": 5201}, "timestamp": {"timesecs": 1763870000},
//	           "test_start": {"protocol": "TCP", "reverse": 0}},
//	 "end": {"sum_received": {"seconds": 10.0, "bits_per_second": 9.4e9}}}
//
// The receiver's bytes count. With -R the server sends; with --bidir both do. Tests that overlap
// for more than half of the shorter ran at the same time.
func readIperf3(data []byte, o Options) (*Result, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	t := &iperfTests{at: map[string]int{}, addresses: o.Addresses}
	for n := 1; ; n++ {
		var x iperfTest
		if err := d.Decode(&x); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("document %d: not JSON of iperf3: %w", n, err)
		}
		if err := t.document(x); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	if t.open != nil {
		return nil, errors.New("the last test has no end")
	}
	if err := t.pairs.check(); err != nil {
		return nil, err
	}
	t.pairs.spans(t.from, t.to)
	r := &Result{What: fmt.Sprintf("%s, tests: %d", t.version, t.tests), Pairs: &t.pairs}
	if t.held > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d tests were held to a rate, %v a stream at most (iperf3 -b, or UDP): they say nothing of what is above it", t.held, t.tests, t.target))
	}
	return r, nil
}

type iperfTests struct {
	pairs    Pairs
	from, to []float64 // seconds, by pair
	at       map[string]int
	// addresses are those of hosts: see Options.
	addresses map[string]string
	version   string
	tests     int
	held      int         // tests with a target
	target    unit.Rate   // the highest
	open      *iperfStart // of a stream of events
}

func (t *iperfTests) document(x iperfTest) error {
	if x.Error != "" {
		return fmt.Errorf("iperf3 says: %.200q", x.Error)
	}
	switch x.Event {
	case "":
		return t.test(x.Start, x.End)
	case "start":
		if t.open != nil {
			return errors.New("the test before it has no end")
		}
		t.open = &iperfStart{}
		return json.Unmarshal(x.Data, t.open)
	case "end":
		if t.open == nil {
			return errors.New("the end of a test without a start")
		}
		var end iperfEnd
		if err := json.Unmarshal(x.Data, &end); err != nil {
			return err
		}
		start := *t.open
		t.open = nil
		return t.test(start, end)
	case "error":
		return fmt.Errorf("iperf3 says: %.200s", x.Data)
	}
	return nil // intervals
}

func (t *iperfTests) test(s iperfStart, e iperfEnd) error {
	system := strings.Fields(s.SystemInfo)
	switch {
	case s.Version == "":
		return errors.New("not JSON of iperf3: start.version is missing")
	case s.ConnectingTo.Host == "":
		return errors.New("it does not name the host that it connects to: give the output of clients, not of servers")
	case len(system) < 2:
		return errors.New("start.system_info does not name the host of the client")
	case !(e.Received.Seconds > 0):
		return errors.New("no end.sum_received: the test did not end, the server said nothing, or it is UDP of an iperf3 before 3.2")
	}
	t.version, t.tests = s.Version, t.tests+1
	if s.TestStart.Target > 0 {
		t.held, t.target = t.held+1, max(t.target, unit.Rate(s.TestStart.Target))
	}
	own := system[1]
	if len(s.Connected) > 0 {
		own = cmp.Or(t.addresses[s.Connected[0].Local], own)
	}
	client, server := t.end(own), t.end(cmp.Or(t.addresses[s.ConnectingTo.Host], s.ConnectingTo.Host))
	if len(t.pairs.Names) > maxEnds {
		return fmt.Errorf("more than %d hosts", maxEnds)
	}
	from := s.Timestamp.Secs
	if s.Timestamp.Millis > 0 {
		from = s.Timestamp.Millis / 1000
	}
	add := func(src, dst int, sum iperfSum) {
		t.pairs.List = append(t.pairs.List, Pair{Src: src, Dst: dst, Rate: sum.Rate})
		t.from, t.to = append(t.from, from), append(t.to, from+s.TestStart.Omit+sum.Seconds)
	}
	if s.TestStart.Reverse != 0 {
		client, server = server, client
	}
	add(client, server, e.Received)
	if e.Back.Seconds > 0 {
		add(server, client, e.Back)
	}
	return nil
}

func (t *iperfTests) end(name string) int {
	i, ok := t.at[name]
	if !ok {
		i = len(t.pairs.Names)
		t.at[name] = i
		t.pairs.Names = append(t.pairs.Names, name)
	}
	return i
}
