package main

import (
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// The cases in which evbench broke, beside the checkout: each says what is right.
func TestBreaks(t *testing.T) {
	need.Heavy(t)
	dir := need.Cases(t, "../..", "breaks")
	switches := expect.Value(filepath.Abs("testdata/breaks"))(t)
	sources := expect.Value(filepath.Abs("../../site/wrapped/c"))(t)
	for _, c := range []struct {
		name, command string
		needs         string
		is            []string
		not           string
	}{
		{"path bits", "bash $CASES/pathbits.sh", "mpicc mpirun", []string{"--path-bits\nrc 0\nalltoall"}, "not in the order of the plan"},
		{"a shared TMPDIR", "bash $CASES/tmpsweep.sh", "python3", []string{"rc 0", "the other run's folder is there"}, "GONE"},
		{"names", "sh $CASES/escape.sh", "python3 script", []string{"raw escapes: 0\n", "p.txt:0 t.txt:0"}, ""},
		{"a label", "evbench judge $CASES/label-latin1.txt -t 'FT(2;4,4)' --rate 100Gbit/s", "", []string{"BAD: "}, "panic"},
		{"two runs", "BREAK4=" + switches + " WORK=. bash $CASES/kerntwo.sh", "perl", []string{"try 4: ", "is in use by another evbench"}, "NOT former"},
		{"plans for the ranks", "gcc -I " + sources + ` -o readplan $CASES/readplan.c && evbench topo convert 'Dragonfly(1;2;1;3)' --lmc 1 --format ibnetdiscover -o net.txt &&
			evbench plan -t net.txt -e minmax --lmc 1 --path-bits -o bits.txt && evbench plan -t 'FT(3;2,2,2)' -s fors -o levels.txt && ./readplan bits.txt levels.txt`,
			"gcc", []string{"bits.txt: ok", "levels.txt: ok"}, "REFUSED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tool := range strings.Fields(c.needs) {
				if _, err := need.Find(tool); err != nil {
					need.Optional(t, err.Error())
				}
			}
			_, out, said := sh(t, t.TempDir(), "export CASES="+dir+" EVB=evbench; "+c.command)
			expect.Contains(t, out+said, c.is...)
			expect.False(t, c.not != "" && strings.Contains(out+said, c.not), "it has %q:\n%s%s", c.not, out, said)
			if c.name == "two runs" {
				expect.Equal(t, strings.Count(out, "a rc 0, b rc 2")+strings.Count(out, "a rc 2, b rc 0"), 4, "runs of which one is refused:\n%s", out)
			}
		})
	}
}
