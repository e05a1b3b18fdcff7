package judge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/study/judge/foreign"
	"evbench/topology/network"
)

func readWords(t *testing.T, w Words) (*Input, error) {
	t.Helper()
	n := expect.Value(network.Parse("FT(2;2,4)", 0))(t)
	in := &Input{Name: "FT(2;2,4)", Whole: n, Net: n}
	if w.Format == "" {
		w.Format = foreign.Auto
	}
	return in, w.Read(in, os.ReadFile)
}

// Hosts are those of the list, else of the result, else all.
func TestWords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	hosts := file("hosts", "h1:2\nh3:2\n")
	graph := file("graph", "START mpiGraph v1.5\nProcs\t2\nRecv\th5:0\th0:1\nh5:0 from\t0.0\t1.0\nh0:1 from\t1.0\t0.0\n")
	for _, x := range []struct {
		words        Words
		hosts, slots int
		rate         float64
	}{
		{Words{}, 8, 1, 0},
		{Words{Hosts: hosts, Rate: "10Gbit/s", Result: "50%"}, 2, 2, 1e10},
		{Words{Result: graph}, 2, 1, 0},
	} {
		in, err := readWords(t, x.words)
		if err != nil || len(in.Hosts.Nodes) != x.hosts || in.Hosts.Slots != x.slots || in.Rate != x.rate || (in.Result != nil) != (x.words.Result != "") {
			t.Errorf("%+v: %+v, %v", x.words, in, err)
		}
	}
	for want, w := range map[string]Words{
		"--format":              {Format: "text"},
		"--rate":                {Rate: "fast"},
		"must be above 0":       {Rate: "0Gbit/s"},
		"--size":                {Size: "big"},
		"--size is for":         {Size: "1KiB", Result: "50%"},
		"--size is":             {Size: "1KiB", Result: graph},
		"--case chooses":        {Case: "x", Result: graph},
		"neither a file nor":    {Result: filepath.Join(dir, "none")},
		"none":                  {Result: filepath.Join(dir, "none"), Format: foreign.OSU},
		"is a directory":        {Result: dir},
		"bad: line 1: slots":    {Hosts: file("bad", "h1:x\n")},
		"is not in the network": {Result: file("other", "START mpiGraph v1.5\nRecv\tn1:0\tn2:1\nn1:0 from\t0.0\t1.0\nn2:1 from\t1.0\t0.0\n")},
	} {
		if _, err := readWords(t, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", w, err, want)
		}
	}
}
