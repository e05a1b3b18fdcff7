package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/proc"
)

// A pair runs this twice. With a dead link the schedule needs 17 phases in place of 16: a loss of 5.9 %.
const (
	exchange = `topology: FT(2;4,4)
fabric: {kind: lab, rate: 100Mbit/s}
event: {phase: 20ms}
duration: 450ms
timeout: 30s
cases:
  - {name: healthy, schedule: linear-shift}
  - {name: exchange, schedule: fors%s}
`
	deadLink = ", failures: [leaf0-spine0]"
	repeats  = "6"
)

// A Pair is what evbench compare says of two runs. Of a lossy pair the second run has a dead link.
type Pair struct {
	Condition Condition `json:"condition"`
	Lossy     bool      `json:"lossy"`
	answer.Answer
}

// right reports whether the second run is called worse if and only if the pair is lossy.
func (p Pair) right() bool { return (p.Verdict == answer.Bad) == p.Lossy }

// comparePairs measures equal pairs beside busy loops and lossy pairs on the idle machine in turn.
// It passes where at most one of 20 equal pairs is called worse, and 18 of 20 lossy ones are.
func comparePairs(ctx context.Context, o *options, stdout, stderr io.Writer) (passed bool, err error) {
	m, err := newMachine(o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.dir)) }()
	var pairs []Pair
	began := time.Now()
	for n := range 2 * o.pairs {
		p := Pair{Condition: Loops}
		if n%2 == 1 {
			p = Pair{Condition: Idle, Lossy: true}
		}
		if err := m.pair(ctx, &p); err != nil || ctx.Err() != nil {
			return false, err
		}
		pairs = append(pairs, p)
		fmt.Fprintf(stderr, "%s  pair %d of %d, %s: %s\n", time.Since(began).Round(time.Second), n+1, 2*o.pairs, p.Condition, p)
	}
	equal, lossy := 0, 0
	for _, p := range pairs {
		switch {
		case p.Lossy && p.right():
			lossy++
		case !p.Lossy && !p.right():
			equal++
		}
	}
	passed = 20*equal <= o.pairs && 20*lossy >= 18*o.pairs
	if o.json {
		return passed, json.NewEncoder(stdout).Encode(map[string]any{"schema": "evbench/pairs/1", "passed": passed, "pairs": pairs})
	}
	_, err = fmt.Fprintf(stdout, "equal runs beside %d busy loops: %d of %d pairs called worse, allowed is 1 of 20\n"+
		"a loss of 6 %% on the idle machine: found in %d of %d pairs, at least 18 of 20 are wanted\n", loops, equal, o.pairs, lossy, o.pairs)
	return passed, err
}

// pair runs both and compares them.
func (m *machine) pair(ctx context.Context, p *Pair) (err error) {
	dir, err := os.MkdirTemp(m.dir, "pair-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var out []string
	for i, failures := range []string{"", deadLink} {
		if !p.Lossy {
			failures = ""
		}
		scenario := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(scenario, fmt.Appendf(nil, exchange, failures), 0o644); err != nil {
			return err
		}
		out = append(out, strings.TrimSuffix(scenario, ".yaml"))
		o := Outcome{Condition: p.Condition}
		args := append(append([]string{"-o", out[i], "--rounds", repeats}, m.further...), scenario)
		if err := m.perform(ctx, &o, dir, args); err != nil || ctx.Err() != nil {
			return err
		}
		if o.ExitCode != proc.ExitDone && o.ExitCode != exitNoAnswer {
			return fmt.Errorf("evbench run ended with %d: %s", o.ExitCode, o.Said)
		}
	}
	text, err := proc.Output(proc.Command(ctx, dir, m.evbench, append([]string{"compare", "--force", "--json"}, out...)...), 1<<20)
	if err != nil {
		return err
	}
	var said struct{ Answer *answer.Answer }
	said.Answer = &p.Answer
	return json.Unmarshal([]byte(text), &said)
}
