package controller

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/testing/expect"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of testdata/*.txt anew; then read the diff")

// TestMachine plays the scripts of testdata: a time and a command per line,
// "----", and what the machine wants done.
func TestMachine(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	expect.MustTrue(t, err == nil && len(files) != 0, "no scripts: %v", err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	text := expect.Value(os.ReadFile(file))(t)
	s := script{}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		commands, want, _ := strings.Cut(block+"\n", "----\n")
		var got strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				expect.Must(t, s.do(&got, line), "%s: block %d: %s", file, i, line)
			}
		}
		if got.String() != want && !*rewrite {
			t.Errorf("%s: block %d:\n%s----\ngot\n%swant\n%s", file, i, commands, got.String(), want)
		}
		fmt.Fprintf(&out, "%s----\n%s\n", commands, got.String())
	}
	if *rewrite {
		expect.Must(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}

type script struct {
	m *machine
}

// do runs one command: "TIME WORD ARGS".
func (s *script) do(out *strings.Builder, line string) error {
	f := strings.Fields(line)
	now, err := time.ParseDuration(f[0])
	if err != nil {
		return err
	}
	if f[1] == "case" {
		return s.newCase(f[2:])
	}
	if err := s.event(out, now, f[1], f[2:], line); err != nil {
		return err
	}
	for _, a := range s.m.take() {
		fmt.Fprintln(out, describe(a))
	}
	return nil
}

// newCase reads "MODE SERVERS key=value…"; server i+10 has rank i.
func (s *script) newCase(args []string) error {
	c := Case{Case: wire.Case{Setting: builder.Setting{Name: "c", Mode: modes.Mode(args[0])}, Fragment: 1000}}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for i := range n {
		c.Peers = append(c.Peers, wire.Peer{Server: 10 + i})
		c.Rows = append(c.Rows, nil)
	}
	for _, kv := range args[2:] {
		key, value, _ := strings.Cut(kv, "=")
		if d, err := time.ParseDuration(value); err == nil && key == "duration" {
			c.Duration = d
			continue
		}
		x, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		switch key {
		case "warmup":
			c.Warmup = uint64(x)
		case "credits":
			c.Credits = x
		case "exchanges":
			c.Exchanges = uint64(x)
		case "async":
			c.AsyncCredits = x
		case "pairs":
			c.Pairs = x != 0
		default:
			return fmt.Errorf("no field %s", key)
		}
	}
	if c.Mode == modes.Ordered {
		c.Rows, c.Windows = nil, notCalled{}
	}
	c = c.withDefaults()
	s.m = newMachine(c, 1)
	return c.validate()
}

// notCalled stands for plans, which scripts bring by "windows".
type notCalled struct{}

func (notCalled) Next(uint64, int, bool) ([]wire.Window, error) { panic("called") }

func (s *script) event(out *strings.Builder, now time.Duration, word string, args []string, line string) error {
	switch word {
	case "start":
		s.m.start(now)
	case "measured":
		s.m.measured(now)
	case "tick":
		s.m.tick(now)
	case "cancel":
		s.m.cancel(now, errors.New("interrupted"))
	case "hold": // with the epoch of the plan, or 0
		var p *PlanChange
		if args[0] != "0" {
			p = &PlanChange{Epoch: uint32(args[0][0] - '0'), Rows: slices.Repeat([][]wire.Step{{{}}}, len(s.m.workers))}
		}
		s.m.hold(now, p)
	case "replan":
		p := PlanChange{Epoch: 7, Rows: slices.Repeat([][]wire.Step{{{}}}, len(s.m.workers))}
		if len(args) > 0 {
			p.Mode = modes.Mode(args[0])
		}
		if s.m.c.Mode == modes.Ordered {
			p.Rows, p.Windows = nil, notCalled{}
		}
		if err := s.m.changePlan(now, p); err != nil {
			fmt.Fprintln(out, err)
		}
	case "allow", "away":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		if word == "allow" {
			s.m.allow(now, d)
		} else {
			s.m.away(now, d)
		}
	case "windows": // of the number, as they were asked for; more: an error
		id, err := strconv.Atoi(args[0])
		if err == nil && len(args) > 1 {
			s.m.planned(now, id, nil, errors.New(strings.Join(args[1:], " ")))
		} else if err == nil {
			s.m.planned(now, id, make([]wire.Window, len(s.m.workers)), nil)
		}
		return err
	case "state":
		fmt.Fprintln(out, s.m.state)
	case "result":
		s.result(out)
	default:
		return s.message(now, word, args, line)
	}
	return nil
}

// message delivers "WORD RANK[,RANK…] NUMBER…".
func (s *script) message(now time.Duration, word string, args []string, line string) error {
	var x []uint64
	for _, a := range args[1:] {
		a = strings.TrimSuffix(a, ":")
		v, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			break // the rest is text
		}
		x = append(x, uint64(v))
	}
	for _, r := range strings.Split(args[0], ",") {
		rank, err := strconv.Atoi(r)
		if err != nil {
			return err
		}
		if word == "gone" {
			s.m.gone(now, rank, errors.New("EOF"))
			continue
		}
		m, err := parse(word, x, line)
		if err != nil {
			return err
		}
		s.m.receive(now, rank, m)
	}
	return nil
}

func parse(word string, x []uint64, line string) (wire.Message, error) {
	switch word {
	case "ready":
		return wire.Ready{Run: 1}, nil
	case "stale":
		return wire.Ready{Run: 0}, nil
	case "pong":
		return wire.Pong{Moves: append(x, 0)[0]}, nil
	case "progress":
		return wire.Progress{Run: 1, Exchange: x[0]}, nil
	case "built":
		return wire.Completed{Run: 1, Built: x}, nil
	case "lost":
		return wire.Completed{Run: 1, Lost: x}, nil
	case "held":
		return wire.Held{Run: 1, Begun: x[0]}, nil
	case "has":
		return wire.Held{Run: 1, Begun: x[0], Has: true}, nil
	case "updated":
		return wire.Updated{Run: 1, Epoch: 7}, nil
	case "sample":
		return wire.Samples{Run: 1, Sample: results.Sample{Events: x[0]}}, nil
	case "finished":
		t := wire.Totals{FirstSend: time.Millisecond, LastReceive: time.Second}
		if len(x) > 0 {
			t.Done, t.Exchanges = []wire.Range{{From: 0, To: x[0]}}, x[0]
			t.Events = x[0]
		}
		if len(x) > 1 { // without the warm-up
			t.Exchanges, t.Events = x[1], x[1]
		}
		return wire.Finished{Run: 1, Totals: t}, nil
	case "totals": // finished, with JSON
		var t wire.Totals
		_, text, _ := strings.Cut(line, ": ")
		err := json.Unmarshal([]byte(text), &t)
		return wire.Finished{Run: 1, Totals: t}, err
	case "counted": // finished, with so many sources
		return wire.Finished{Run: 1, Totals: wire.Totals{Done: []wire.Range{{From: 0, To: 1}}, Exchanges: 1, Events: 1, Sources: make([]wire.Source, x[0])}}, nil
	case "took": // finished, with a stride, a number of events and durations
		t := wire.Took{Stride: int(x[0]), Events: x[1]}
		for _, d := range x[2:] {
			t.Durations = append(t.Durations, time.Duration(d))
		}
		return wire.Finished{Run: 1, Totals: wire.Totals{Done: []wire.Range{{From: 0, To: 1}}, Exchanges: 1, Events: 1, Took: t}}, nil
	case "grant": // which only a controller sends
		return wire.Grant{Run: 1}, nil
	case "aborted", "error", "stuck":
		_, text, _ := strings.Cut(line, ": ")
		return failed(word, x, text), nil
	}
	return nil, fmt.Errorf("no command %s", word)
}

// failed reads "EXCHANGE PHASE [PEER…]: STAGE[: TEXT]".
func failed(word string, x []uint64, text string) wire.Message {
	stage, text, _ := strings.Cut(text, ": ")
	at := wire.Position{Exchange: x[0], Phase: int(x[1]), Stage: stage}
	for _, p := range x[2:] {
		at.Peers = append(at.Peers, int(p))
	}
	if word != "aborted" {
		return wire.Error{Run: 1, At: at, Text: text, Stuck: word == "stuck"}
	}
	return wire.Finished{Run: 1, Aborted: true, At: at}
}

func (s *script) result(out *strings.Builder) {
	o := s.m.outcome()
	fmt.Fprintf(out, "complete %v, exchanges %d, samples %d, assigned %d, built %d, lost %d, duplicate %d, unknown %d, unfinished %d, span %v\n",
		o.Complete, o.Exchanges, o.Samples, o.Assigned, o.Built, o.Lost, o.Duplicate, o.Unknown, o.Unfinished, o.Span)
	if s.m.err == errFailed {
		e := s.m.blame(s.m.during)
		fmt.Fprintf(out, "%v\nat fault %v\n", e, e.Servers)
	}
}

func describe(a action) string {
	switch a := a.(type) {
	case send:
		return fmt.Sprintf("to %d: %s", a.rank, short(a.m))
	case pause:
		return "pause"
	case planning:
		quiet := map[bool]string{true: ", quiet"}[a.quiet]
		return fmt.Sprintf("plan %d: %d from %d%s", a.id, a.count, a.from, quiet)
	case placed:
		return fmt.Sprintf("placed, from %d", a.from)
	case ended:
		if a.err != nil {
			return fmt.Sprintf("switch: %v", a.err)
		}
		return fmt.Sprintf("switched from %d: held %v, placed %v, last old %v, first new %v", a.sw.From, a.sw.Held, a.sw.InPlace, a.sw.LastOld, a.sw.FirstNew)
	case record:
		return fmt.Sprintf("sample: server %d, %d events", a.s.Server, a.s.Events)
	}
	return fmt.Sprintf("%T", a)
}

func short(m wire.Message) string {
	switch m := m.(type) {
	case wire.Configure:
		return fmt.Sprintf("configure rank %d", m.Rank)
	case wire.Grant:
		return fmt.Sprintf("grant %d", m.Until)
	case wire.Assign:
		return fmt.Sprintf("assign %v", m.Events)
	case wire.Window:
		quiet := map[bool]string{true: ", quiet"}[m.Quiet]
		return fmt.Sprintf("window of %d from %d, epoch %d%s", m.Count, m.From, m.Epoch, quiet)
	case wire.PlanUpdate:
		row := map[bool]string{true: ", with its row"}[len(m.Row) > 0]
		return strings.TrimSpace(fmt.Sprintf("plan update, epoch %d from %d %s", m.Epoch, m.From, m.Mode)) + row
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", m), "wire."))
}
