package policy

import (
	"fmt"
	"strings"
	"time"

	"evbench/results"
)

// Times are how long it takes to do what the machine asks for.
type Times struct {
	Seen     time.Duration // from the change of a link to its event
	Debounce time.Duration // planning waits for more events
	Aid      time.Duration // to lead the tables around dead links
	Plan     time.Duration // to make a plan
	Verify   time.Duration // to judge it
	Install  time.Duration // to put its routes in place and read them back
	Update   time.Duration // until all workers have it
	Clean    time.Duration // to take the old routes away
	Exchange time.Duration // one exchange; 0: as long as one takes when nothing is dead
	// retransmit is how long TCP waits before it first sends again what was lost.
	retransmit time.Duration
}

const ms = time.Millisecond

// Stated are the times that evbench is held to in its lab: first aid 2 ms after the
// event, all workers on the new plan 20 ms after it and the exchange under way. The
// retransmission is the least that Linux waits.
func Stated() Times {
	return Times{
		Debounce: ms, Aid: 2 * ms, Plan: 14 * ms, Verify: ms, Install: 2 * ms, Update: 2 * ms, Clean: 5 * ms, retransmit: 200 * ms,
	}
}

// StatedSource says where Stated comes from.
const StatedSource = "the figures evbench is held to in its lab: first aid 2 ms, all workers on the new plan 20 ms"

// Thesis are the same with the 1.5 s that LHCb's subnet manager needs for new routes
// (thesis 4.1.2), for first aid as for a plan.
func Thesis() Times {
	t := Stated()
	t.Aid, t.Install, t.Clean = 1500*ms, 1500*ms, 1500*ms
	return t
}

type timeField struct {
	name string
	at   *time.Duration
}

func (t *Times) fields() []timeField {
	return []timeField{
		{"seen", &t.Seen}, {"debounce", &t.Debounce}, {"aid", &t.Aid}, {"plan", &t.Plan}, {"verify", &t.Verify},
		{"install", &t.Install}, {"update", &t.Update}, {"clean", &t.Clean}, {"exchange", &t.Exchange}, {"retransmit", &t.retransmit},
	}
}

// set sets a time by its name: seen, debounce, aid, plan, verify, install, update, clean,
// exchange, retransmit.
func (t *Times) set(name, value string) error {
	var names []string
	for _, f := range t.fields() {
		names = append(names, f.name)
		if f.name != name {
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > time.Hour {
			return fmt.Errorf("%s=%s: must be a time from 0s to 1h, such as 2ms", name, value)
		}
		*f.at = d
		return nil
	}
	return fmt.Errorf("no time is called %q; there are %s", name, strings.Join(names, ", "))
}

// String lists the times, in the form that set takes.
func (t Times) String() string {
	var out []string
	for _, f := range t.fields() {
		out = append(out, f.name+"="+f.at.String())
	}
	return strings.Join(out, " ")
}

// ParseTimes reads times that people state: lab or thesis first, where none are given yet,
// then NAME=D, with commas between. What is not named stays as it is. source says where the
// times come from, before and after.
func ParseTimes(text string, times Times, source string, first bool) (Times, string, error) {
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok && i == 0 && first && name == "lab":
		case !ok && i == 0 && first && name == "thesis":
			times, source = Thesis(), "the lab, but LHCb's subnet manager takes 1.5 s for routes (thesis 4.1.2)"
		case !ok:
			return times, "", fmt.Errorf("%q: write lab or thesis first, or NAME=D, such as aid=2ms", part)
		default:
			if err := times.set(name, value); err != nil {
				return times, "", err
			}
			source = strings.TrimSuffix(source, "; --times on top") + "; --times on top"
		}
	}
	return times, source, nil
}

// Measured puts medians of a run in the place of the times, and returns over how many changes
// they are. An exchange depends on the network and is not taken.
func (t *Times) Measured(run *results.Run) int {
	n := 0
	took := map[*time.Duration][]float64{}
	add := func(to *time.Duration, from, until *float64) {
		if from != nil && until != nil && *until >= *from {
			took[to] = append(took[to], *until-*from)
		}
	}
	for _, f := range run.Summary.Failovers() {
		if f.SeenSec == nil || f.Superseded {
			continue
		}
		n++
		add(&t.Seen, f.SetSec, f.SeenSec)
		add(&t.Aid, f.SeenSec, f.AidedSec)
		add(&t.Plan, f.SeenSec, f.PlannedSec)
		add(&t.Verify, f.PlannedSec, f.VerifiedSec)
		add(&t.Install, f.VerifiedSec, f.InstalledSec)
		add(&t.Update, f.InstalledSec, f.UpdatedSec)
		add(&t.Clean, f.FirstNewSec, f.CleanedSec)
	}
	for to, sec := range took {
		*to = time.Duration(results.Middle(sec) * float64(time.Second))
	}
	if len(took[&t.Plan]) > 0 {
		t.Debounce = 0 // it is in the time until the plan is there
	}
	return n
}
