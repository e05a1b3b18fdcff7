package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"evbench/internal/proc"
)

// An outcome is one round as it went.
type outcome struct {
	Round      int       `json:"round"`
	Kind       Kind      `json:"kind"`
	Policy     string    `json:"policy,omitempty"`
	Ordered    bool      `json:"ordered,omitempty"`
	Seed       uint64    `json:"seed"`
	Seconds    float64   `json:"seconds"`
	LinkEvents int       `json:"link_events"` // as they happened
	Built      uint64    `json:"events_built"`
	Lost       uint64    `json:"events_lost"`
	Duplicate  uint64    `json:"events_duplicate"`
	ExitCode   int       `json:"exit_code"`
	Second     *Usage    `json:"second_quarter,omitempty"` // of the process, medians
	Last       *Usage    `json:"last_quarter,omitempty"`
	Findings   []Finding `json:"findings"`
	Repeat     string    `json:"repeat,omitempty"` // where there are anomalies
}

func (o outcome) anomalies() (n int) {
	for _, f := range o.Findings {
		if f.Anomaly() {
			n++
		}
	}
	return n
}

// playAll runs rounds until the time is up, and reports whether something is unexplained.
func playAll(ctx context.Context, o *options, stdout, stderr io.Writer) (unexplained bool, err error) {
	plan := Plan{Seed: o.seed, Length: o.length()}
	if o.show {
		_, err := io.WriteString(stdout, plan.Round(o.round).YAML())
		return false, err
	}
	if err := runnable(ctx, o); err != nil {
		return false, err
	}
	log, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return false, proc.Usagef("--log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	fmt.Fprintf(stderr, "soak: seed %d, %g minutes, log in %s\n", o.seed, o.minutes, o.log)

	var done []outcome
	began := time.Now()
	for n := max(1, o.round); ctx.Err() == nil; n++ {
		if o.round == 0 {
			n = plan.Next(n, func(k Kind) bool { return o.only.MatchString(string(k)) })
		}
		if n == 0 {
			break
		}
		s := plan.Round(n)
		if len(done) > 0 && time.Since(began)+s.Kind.rule().takes(s) > o.length() {
			break
		}
		fmt.Fprintf(stderr, "%s  round %d: %s\n", time.Since(began).Round(time.Second), n, describe(s))
		out, seen, err := play(ctx, o, s)
		if ctx.Err() != nil {
			break // what is odd about it is our own doing
		}
		if err != nil {
			return false, errors.Join(fmt.Errorf("round %d: %w; %s repeats it", n, err, o.repeat(n)), show(stdout, o, done))
		}
		done = append(done, out)
		if err := note(log, stderr, s, out, seen); err != nil {
			return false, err
		}
		unexplained = unexplained || out.anomalies() > 0
		if o.round > 0 {
			break
		}
	}
	return unexplained, show(stdout, o, done)
}

// runnable reports why the lab cannot be built here, or what else is missing.
func runnable(ctx context.Context, o *options) error {
	if o.only.MatchString(string(Outside)) || o.only.MatchString(string(Severed)) {
		for _, name := range []string{"ip", "nsenter"} {
			if _, err := exec.LookPath(name); err != nil {
				return proc.Usagef("links are taken down from outside with ip and nsenter (packages iproute2, util-linux; --only leaves them out): %w", err)
			}
		}
	}
	var said proc.Tail
	doctor := exec.CommandContext(ctx, o.evbench, "lab", "doctor")
	doctor.Stdout, doctor.Stderr = &said, &said
	err := doctor.Run()
	if err != nil && ctx.Err() == nil {
		return proc.Usagef("evbench lab doctor: %w\n%s", err, said.String())
	}
	return nil
}

func describe(s *Script) string {
	words := []string{string(s.Kind), s.Notation}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if s.Fill != nil {
		add("filled %v", s.Fill)
	}
	if s.Ordered {
		add("ordered")
	}
	if s.Policy != "" {
		add("%s", s.Policy)
	}
	if s.Hold > 0 {
		add("hold %s", s.Hold)
	}
	if s.Kind.OnLinks() {
		add("%d link events in %s", s.Changes(), s.Duration)
	}
	if n := len(s.Strikes()); n > 0 {
		add("%d link events by others", n)
	}
	if s.Apart && s.Kind == Pause {
		add("workers apart")
	}
	if len(s.Waves) > 0 {
		add("%d waves", len(s.Waves))
	}
	if s.Payload {
		add("check payload")
	}
	if s.Hogs > 0 {
		add("%d busy loops", s.Hogs)
	}
	if len(s.Stops) > 0 {
		add("stopped %d times, %s", len(s.Stops), s.Stopped())
	}
	switch s.Kind {
	case KillWorker, Cut, Stall:
		add("server %d", s.Victim)
	case Delay:
		add("late by %v", s.Delays)
	}
	if s.Hosts {
		add("on loopback")
	}
	return strings.Join(words, ", ")
}

// note writes to the log what was odd about a round, and all of it when that is not
// explained.
func note(log, stderr io.Writer, s *Script, out outcome, seen Seen) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s round %d seed %d: %s\n", time.Now().UTC().Format(time.RFC3339), s.Round, s.Seed, fmt.Sprintf(format, args...))
	}
	line("%s: exit code %d after %.1f s", describe(s), out.ExitCode, out.Seconds)
	for _, f := range out.Findings {
		line("%s", f)
		if f.Anomaly() {
			fmt.Fprintf(stderr, "  %s\n", f)
		}
	}
	for _, h := range seen.Halts {
		line("at %.3f s the machine itself was slow for %s", h.At.Seconds(), h.For.Round(time.Millisecond))
	}
	if out.Repeat != "" {
		fmt.Fprintf(stderr, "  %s repeats it\n", out.Repeat)
		line("%s repeats it; its scenario and what was said:\n%s\n%s", out.Repeat, s.YAML(), seen.Said)
		if seen.Run != nil {
			err := json.NewEncoder(&b).Encode(seen.Run.Summary)
			if err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(log, b.String())
	return err
}
