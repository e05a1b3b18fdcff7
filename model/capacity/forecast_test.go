package capacity

import (
	"errors"
	"strings"
	"testing"

	"evbench/scenario"
	"evbench/testing/expect"
)

// What a small tree takes says what a large one will: barriers grow with the servers, and
// what all carry is shared among them.
func TestForecast(t *testing.T) {
	m, err := MeasureMachine(func(s *scenario.Scenario) (float64, error) {
		ideal := 8 * float64(s.Event.Fragment) / float64(s.Fabric.Rate)
		if s.Event.Phase == 0 {
			return ideal / 0.0015, nil
		}
		return 0.1, nil
	})
	expect.MustTrue(t, err == nil && m.Servers == 32 && m.PhaseSec >= 0.0014 && m.PhaseSec <= 0.0016 && m.BitPerSec == 3.2e9,
		"%+v, %v; want 32 servers, 1.5 ms, 3.2 Gbit/s", m, err)
	for _, tt := range []struct {
		event, cases string
		inOne        int
		free         uint64
		fits         bool
		want         string
	}{
		{"{phase: 400ms}\ndeliver: discard", "[{}]", 30, 8e9, true, `  ok    326 servers, 38 switches, 105950 connections, processes: 11
  ok    memory: about 3.536GB (64.71MB for events) of 8GB that may be taken
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  ok    phases of 400ms: barriers of about 15ms take 4 % of the time
`},
		{"{phase: 100ms}", "[{}]", 0, 0, false, `  no    326 servers, 38 switches: no process may have the files of one server; raise ulimit -Hn
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  no    phases of 100ms: barriers of about 15ms take 13 % of the time
        take event: {phase: 290ms} or more for 5 %
`},
		{"{fragment: 1MiB}", "[{mode: unsynchronised}]", 400, 1e9, false, `  ok    326 servers, 38 switches, 105950 connections, processes: 1
  no    memory: about 226.3GB (222.9GB for events) of 1GB that may be taken
        take deliver: discard, smaller fragments or fewer credits
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
`},
	} {
		text := "topology: FT(2;20,18)\nfill: [19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18]\n" +
			"fabric: {rate: 4Mbit/s}\nevent: " + tt.event + "\ncases: " + tt.cases + "\n"
		s := expect.Value(scenario.Read("big", strings.NewReader(text)))(t)
		f := NewForecast(s, m, tt.inOne, tt.free)
		if got := f.String(); got != tt.want || f.Fits() != tt.fits {
			t.Errorf("%s %s: fits %v, want %v\n%s\nwant\n%s", tt.event, tt.cases, f.Fits(), tt.fits, got, tt.want)
		}
	}
}

// A machine that cannot be measured has no forecast.
func TestForecastFails(t *testing.T) {
	no := errors.New("no lab")
	for want, try := range map[string]func(*scenario.Scenario) (float64, error){
		"no lab":         func(*scenario.Scenario) (float64, error) { return 0, no },
		"no result from": func(*scenario.Scenario) (float64, error) { return 0, nil },
	} {
		_, err := MeasureMachine(try)
		expect.Error(t, err, want)
	}
}
