package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestSim(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Sim
	}{
		{"lab", "", Sim{Round: 25 * time.Microsecond, Overhead: 50 * time.Microsecond}},
		{"hosts", "fabric: hosts", Sim{Round: 2 * time.Microsecond, Overhead: 4 * time.Microsecond}},
		{"one field", "sim: {round: 7us}", Sim{Round: 7 * time.Microsecond, Overhead: 50 * time.Microsecond}},
		{"all", "sim: {round: 0s, overhead: 1ms, jitter: 3us}", Sim{Overhead: time.Millisecond, Jitter: 3 * time.Microsecond}},
	} {
		s, err := Read("x.yaml", strings.NewReader("topology: FT(2;2,2)\ncases: [{}]\n"+c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if s.Sim != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, s.Sim, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"sim: {round: 5}", `x.yaml:3: sim.round: duration "5": no unit`},
		{"sim: {overhead: 1m}", "x.yaml:3: sim.overhead: 1m: must be 0s to 1s"},
		{"sim: {jitter: -1us}", "x.yaml:3: sim.jitter: -1us: must be 0s to 1s"},
		{"sim: fast", "x.yaml:3: sim: is the single value"},
		{"sim: {rounds: 1us}", "x.yaml:3: sim.rounds: unknown field; did you mean round?"},
	} {
		_, err := Read("x.yaml", strings.NewReader("topology: FT(2;2,2)\ncases: [{}]\n"+c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.text, err, c.want)
		}
	}
}
