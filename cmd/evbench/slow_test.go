package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// Of faults in a lab the first sentence of run names who it is and nobody else, of none nobody. Beside other tests it may say
// that the machine disturbed the run; that somebody else is slow it may never. Nine servers show it as well as more do.
func TestCulprits(t *testing.T) {
	need.Heavy(t)
	need.Programs(t, "lab", "ip", "tc")
	dir := t.TempDir()
	self := expect.Value(os.Executable())(t)
	expect.Must(t, os.Symlink(self, filepath.Join(dir, "evbench")))
	when := regexp.MustCompile(` (from|until) [0-9.]+ s|rate at times, first at`)
	verdict := regexp.MustCompile(`(?m)^\S+ +\| (\S+) +\| (.*)$`)
	for fault, sec := range map[string]string{"none": "5", "both:server5:leaf1:40": "5", "rate:leaf1:spine2:40": "5", "stop:server7:.1": "5", "spell:server5:leaf1:40": "8"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel() // they wait
			said, sentence := "", ""
			for range 3 { // a busy machine may hide whom a run shows that follows
				code, out, errs := capture(t, dir, "/usr/bin/env", "env", "EVBENCH="+filepath.Join(dir, "evbench"), "PORTS=3", "SEC="+sec, expect.Value(filepath.Abs("../../scripts/culprits"))(t), fault)
				found := verdict.FindStringSubmatch(out)
				expect.MustTrue(t, code == exitDone && found != nil, "ended with %d: %s%s", code, out, errs)
				t.Log(found[0])
				if said, sentence = found[1], found[2]; said != "nobody" {
					break
				}
			}
			expect.True(t, said == "right" || said == "doubted", "%s", said)
			expect.True(t, said != "right" || strings.HasPrefix(fault, "spell") == when.MatchString(sentence), "%s", sentence)
		})
	}
}
