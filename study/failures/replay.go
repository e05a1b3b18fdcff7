package failures

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/topology"
)

// A Script is failures of a log as timed failures of a scenario.
type Script struct {
	tree     *topology.Tree
	duration time.Duration // of the case
	speed    float64       // seconds of the log that pass in one second
	from     time.Time     // of the log: the begin of the case
	Steps    []Step        // in order of time
	Skipped  Skipped
}

// Answer says how many failures of a log the script, written to the file of that name, replays: of all, those of a link
// within merge joined to fewer.
func (s *Script) Answer(all, joined int, merge time.Duration, file string) answer.Answer {
	e := answer.Evidence{Findings: []answer.Finding{{Text: fmt.Sprintf("the scenario replays %d of %d failures of the log, within %s", len(s.Steps), joined, s.duration)}}}
	if joined < all {
		e.Why = []string{fmt.Sprintf("%d failures, with those of a link within %s joined (--merge) %d", all, merge, joined)}
	}
	for _, line := range s.Skipped.Lines() {
		e.Why = append(e.Why, "left out: "+line)
	}
	if file != "" {
		e.Next = []string{answer.Typed("evbench", "validate", file)}
	}
	return answer.Decide(answer.Replay, e)
}

// A Step takes a link down. lasts 0 means until the end.
type Step struct {
	link      topology.Link
	at, lasts time.Duration
}

// Skipped counts failures that the script leaves out.
type Skipped struct {
	NoLink     int // of links that the tree does not have or that are dead from the start, or of servers
	NoDuration int // the message of one end is lost
	Short      int // less than a millisecond at this speed
	Late       int // begin after the end of the case
	Parting    int // would leave servers without a path to each other
}

type ReplayOptions struct {
	// Duration of the case. 0 means 60s, or what Speed needs for the whole log.
	Duration time.Duration
	// Speed is how many seconds of the log pass in one second. 0 means that the whole log fits.
	Speed float64
}

const maxCase = 24 * time.Hour

// Replay fits failures into a case: link names must be those of the tree. It leaves out and counts
// failures that a scenario would refuse. O(n²) for n failures.
func Replay(h *History, fs []Failure, tree *topology.Tree, o ReplayOptions) (Script, error) {
	s := Script{tree: tree, duration: o.Duration, speed: o.Speed, from: h.From}
	if err := s.fit(h.To.Sub(h.From)); err != nil {
		return s, err
	}
	sorted := slices.Clone(fs)
	slices.SortFunc(sorted, compareFailures)
	for _, f := range sorted {
		if step, ok := s.step(h, f); ok {
			s.Steps = append(s.Steps, step)
		}
	}
	return s, nil
}

func (s *Script) fit(span time.Duration) error {
	switch {
	case s.duration < 0 || s.speed < 0 || math.IsNaN(s.speed) || math.IsInf(s.speed, 0):
		return fmt.Errorf("duration %s, speed %g: must be more than 0", s.duration, s.speed)
	case s.duration == 0 && s.speed > 0:
		d := span.Seconds() / s.speed * float64(time.Second)
		if d > float64(maxCase) {
			return fmt.Errorf("%s of log at speed %g last longer than %s; give a duration or more speed", span, s.speed, maxCase)
		}
		s.duration = max(time.Duration(math.Ceil(d/1e6))*time.Millisecond, 100*time.Millisecond)
	case s.duration == 0:
		s.duration = time.Minute
	}
	if s.duration < 100*time.Millisecond || s.duration > maxCase {
		return fmt.Errorf("duration %s: must be 100ms to %s", s.duration, maxCase)
	}
	if s.speed == 0 {
		s.speed = max(span.Seconds()/s.duration.Seconds(), 1e-9)
	}
	return nil
}

func (s *Script) step(h *History, f Failure) (Step, bool) {
	links, err := s.tree.Links(h.Links[f.Link].Name)
	if err != nil || len(links) != 1 || !s.tree.Alive(links[0].Leaf, links[0].Spine) {
		s.Skipped.NoLink++
		return Step{}, false
	}
	at, late := s.scaled(f.Down)
	up, open := s.scaled(f.Up)
	step := Step{link: links[0], at: at, lasts: up - at}
	if open || f.Open || up > s.duration {
		step.lasts = 0
	}
	switch {
	case f.startUnknown || f.EndUnknown:
		s.Skipped.NoDuration++
	case late || at >= s.duration:
		s.Skipped.Late++
	case up-at < time.Millisecond && step.lasts == up-at:
		s.Skipped.Short++
	case !s.possible(step):
		s.Skipped.Parting++
	default:
		return step, true
	}
	return Step{}, false
}

// scaled converts a time of the log to a time of the case, in whole milliseconds.
func (s *Script) scaled(t time.Time) (time.Duration, bool) {
	d := math.Round(t.Sub(s.from).Seconds() / s.speed * 1000)
	if d > float64(maxCase/time.Millisecond) {
		return 0, true
	}
	return time.Duration(d) * time.Millisecond, false
}

// possible reports whether all servers still reach each other when the step begins. Steps come in
// order of time, so later moments need no check.
func (s *Script) possible(n Step) bool {
	dead := []topology.Link{n.link}
	for _, p := range s.Steps {
		if p.lasts == 0 || n.at < p.at+p.lasts {
			if p.link == n.link {
				return false
			}
			dead = append(dead, p.link)
		}
	}
	view, err := s.tree.Without(dead...)
	return err == nil && view.Connected() == nil
}

// WriteScenario writes the script as a scenario, its failures as a list that may
// be copied into another.
func (s Script) WriteScenario(w io.Writer) error {
	fmt.Fprintf(w, "# failures of a log from %s on, %.6g times as fast\n", s.from.Format(time.DateTime), s.speed)
	for _, line := range s.Skipped.Lines() {
		fmt.Fprintf(w, "# left out: %s\n", line)
	}
	fmt.Fprintf(w, "topology: %s\n", s.tree.Notation())
	if !s.tree.Full() {
		fmt.Fprintf(w, "fill: [%s]\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.tree.Fill()), " ", ", "), "[]"))
	}
	if s.tree.Spines() != s.tree.Ports() {
		fmt.Fprintf(w, "spines: %d\n", s.tree.Spines())
	}
	fmt.Fprintf(w, "duration: %s\ninterval: %s\ncases:\n  - name: replay\n    routing: minhop\n", s.duration, min(time.Second, s.duration))
	if len(s.Steps)+len(s.tree.DownNames()) > 0 {
		fmt.Fprintln(w, "    failures:")
	}
	for _, name := range s.tree.DownNames() {
		fmt.Fprintf(w, "      - %s\n", name)
	}
	for _, x := range s.Steps {
		line := fmt.Sprintf("      - {link: %s, at: %s", x.link, x.at)
		if x.lasts > 0 {
			line += fmt.Sprintf(", for: %s", x.lasts)
		}
		if _, err := fmt.Fprintln(w, line+"}"); err != nil {
			return err
		}
	}
	return nil
}

// Lines lists the failures left out, with reasons.
func (k Skipped) Lines() []string {
	return counted([]count{
		{k.NoLink, "failures: not a live link between a leaf and a spine of the topology"},
		{k.NoDuration, "failures: no known begin or end"},
		{k.Short, "failures: shorter than 1ms at this speed"},
		{k.Late, "failures: after the end of the case"},
		{k.Parting, "failures: would leave servers without a path"},
	})
}
