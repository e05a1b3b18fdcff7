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
}
