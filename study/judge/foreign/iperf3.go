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
		Port  int    `json:"local_port"`
		To    int    `json:"remote_port"`
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

// An iperfEnd is sum_received and sum_received_bidir_reverse.
type iperfEnd struct{ Received, Back iperfSum }

// UnmarshalJSON implements json.Unmarshaler, as iperf 3.7 writes both directions of --bidir under one name: that of
// the client's data first.
func (e *iperfEnd) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		var sum iperfSum
		var value json.RawMessage
		if err = errors.Join(err, d.Decode(&value)); err != nil {
			return err
		}
		into := &e.Back
		switch {
		case key == "sum_received" && e.Received == (iperfSum{}):
			into = &e.Received
		case key == "sum_received" || key == "sum_received_bidir_reverse":
			if e.Back != (iperfSum{}) {
				return errors.New("end has more than two sums of what was received")
			}
		default:
			continue
		}
		if err := json.Unmarshal(value, &sum); err != nil {
			return err
		}
		*into = sum
	}
	return nil
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
	t := &iperfTests{addresses: o.Addresses}
	n := 0
	err := each(data, func(document []byte) error {
		n++
		var x iperfTest
		if err := json.Unmarshal(document, &x); err != nil {
			return fmt.Errorf("document %d: not JSON of iperf3: %w", n, err)
		}
		if err := t.document(x); err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.open != nil {
		return nil, errors.New("the last test has no end")
	}
	t.pairs.spans(t.from, t.to)
	sums := t.sum()
	r := &Result{What: fmt.Sprintf("%s, tests: %d", t.version, t.tests), Pairs: &t.pairs}
	if t.held > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d tests were held to a rate, %v a stream at most (iperf3 -b, or UDP): they say nothing of what is above it", t.held, t.tests, t.target))
	}
	if sums > 0 {
		r.note("%d tests ran beside others of the same pair, at the same time: their rates are summed", sums)
	}
	return r, nil
}

// each calls do for each document: one after another, or those of a list.
func each(data []byte, do func(document []byte) error) error {
	data = bytes.TrimSpace(data)
	if inner, list := bytes.CutPrefix(data, []byte("[")); list {
		var all []json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("not a list of documents: %w", err)
		}
		if len(bytes.TrimSpace(inner)) == 1 {
			return errors.New("an empty list")
		}
		for _, x := range all {
			if err := do(x); err != nil {
				return err
			}
		}
		return nil
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var x json.RawMessage
		if err := d.Decode(&x); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return do(data[d.InputOffset():]) // which has the error
		} else if err := do(x); err != nil {
			return err
		}
	}
}

// sum makes one of tests of a pair that ran at the same time, in processes of their own, which have ports of their
// own. It returns how many it has added to others.
func (t *iperfTests) sum() (added int) {
	type key struct{ src, dst, group int }
	first, seen := map[key]int{}, map[string]bool{}
	out := t.pairs.List[:0]
	for i, p := range t.pairs.List {
		k := key{p.Src, p.Dst, p.Group}
		at, again := first[k]
		again = again && t.ports[i] != "" && !seen[t.ports[i]]
		if seen[t.ports[i]] = true; again {
			out[at].Rate += p.Rate
			added++
			continue
		}
		first[k] = len(out)
		out = append(out, p)
	}
	t.pairs.List = out
	return added
}

type iperfTests struct {
	pairs    Pairs
	from, to []float64 // seconds, by pair
	ports    []string  // of its connection, by pair, "": not known
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
	own, ports := system[1], ""
	if len(s.Connected) > 0 {
		own = cmp.Or(t.addresses[s.Connected[0].Local], own)
		ports = fmt.Sprint(system[1], " ", s.Connected[0].Port, " ", s.Connected[0].To)
	}
	client, server := t.pairs.end(own), t.pairs.end(cmp.Or(t.addresses[s.ConnectingTo.Host], s.ConnectingTo.Host))
	from := s.Timestamp.Secs
	if s.Timestamp.Millis > 0 {
		from = s.Timestamp.Millis / 1000
	}
	add := func(src, dst int, sum iperfSum) {
		t.pairs.List = append(t.pairs.List, Pair{Src: src, Dst: dst, Rate: sum.Rate})
		t.ports = append(t.ports, ports)
		t.from, t.to = append(t.from, from), append(t.to, from+s.TestStart.Omit+sum.Seconds)
	}
	if s.TestStart.Reverse != 0 {
		client, server = server, client
	}
	add(client, server, e.Received)
	if ports != "" {
		ports += " back"
	}
	if e.Back.Seconds > 0 {
		add(server, client, e.Back)
	}
	return nil
}
