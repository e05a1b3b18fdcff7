package scenario

import (
	"strings"
	"testing"
	"time"

	"evbench/builder"
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

// Whatever the bytes, readTable returns whole rows that somebody sends something of.
func FuzzReadTable(f *testing.F) {
	f.Add("1,2,3\n4,5,6\n")
	f.Add("# x\n\n 1 ,0,1073741824\r\n")
	f.Add("0,0,0\n")
	f.Add("1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readTable(strings.NewReader(text), 3)
		if err != nil {
			return
		}
		d := builder.Distribution{By: builder.ByEvent, Scale: 1, Table: table}
		if err := d.Check(3); err != nil || someBytes(table) != nil {
			t.Errorf("%q: %v, %v", text, table, err)
		}
	})
}
