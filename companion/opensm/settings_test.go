package opensm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
)

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		args string
		conf string // its text
		want settings
	}{
		{"", "", settings{defaultConf, false, 3, false}},
		{"-B -f /var/log/opensm.log", "# force_log_flush TRUE\nforce_log_flush\n", settings{defaultConf, false, 3, false}},
		{"-F own", "force_log_flush TRUE\n", settings{"own", true, 3, false}},
		{"--config own", "force_log_flush FALSE\n  force_log_flush\tTRUE \n", settings{"own", true, 3, false}},
		{"--config=own", "force_log_flush TRUE\nforce_log_flush FALSE\n", settings{"own", false, 3, false}},
		{"-BFown", "force_log_flush true\nlog_flags 0x01\n", settings{"own", false, 1, false}},
		{"-d 2", "force_log_flush FALSE\n", settings{defaultConf, true, 3, false}},
		{"-Bd2", "", settings{defaultConf, true, 3, false}},
		{"--debug 0", "", settings{defaultConf, false, 3, false}},
		{"--debug=2 -d 0", "", settings{defaultConf, true, 3, false}},
		{"-R file -f -d2 -U V", "", settings{defaultConf, false, 3, false}}, // a log and a file of these names
		{"-D 0x43", "log_flags 0x01\n", settings{defaultConf, false, 0x43, true}},
		{"-D1", "log_flags 0x03\n", settings{defaultConf, false, 1, true}},
		{"-V", "", settings{defaultConf, true, 0xff, true}},
		{"-F", "", settings{"", false, 3, false}},
	} {
		s := settings{conf: defaultConf, level: 3}
		s.args(strings.Split("opensm "+c.args, " "))
		s.lines(c.conf)
		if s != c.want {
			t.Errorf("%s, %q: %+v, want %+v", c.args, c.conf, s, c.want)
		}
	}
}

// TestRunningBuffers tells an OpenSM that buffers its log, and refuses one whose log nobody can
// follow.
func TestRunningBuffers(t *testing.T) {
	ibtest.Need(t)
	conf := filepath.Join(t.TempDir(), "own.conf")
	if _, err := os.Stat(defaultConf); !errors.Is(err, os.ErrNotExist) {
		t.Skipf("OpenSM has a configuration here, %s", defaultConf)
	}
	for _, c := range []struct {
		name, conf, advice, err string
		args                    []string
	}{
		{"as it is", "", `start it anew, with -d 2 or with -F FILE and "force_log_flush TRUE" in the file`, "", nil},
		{"-F", "lmc 1\n", `write "force_log_flush TRUE" into ` + conf + ", then: kill -HUP ", "", []string{"-F", conf}},
		{"-F, flushing", "force_log_flush TRUE\n", "", "", []string{"-F", conf}},
		{"-d 2", "", "", "", []string{"-d", "2"}},
		{"-e", "force_log_flush TRUE\n", "", `buffers its log, and erases it when it is to write it: write "force_log_flush TRUE" into ` + conf, []string{"-e", "-F", conf}},
		{"-e -d 2", "", "", "", []string{"-e", "-d", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Must(t, os.WriteFile(conf, []byte(c.conf), 0o600))
			live, err := ibtest.Start(t.Context(), networkOf(t, treeOf(t, "FT(2;2,3)"), 1), "minhop", nil, c.args...)
			expect.Must(t, err)
			defer live.Close()
			if c.err != "" { // else it would not come up for us
				expect.Must(t, os.WriteFile(conf, []byte("force_log_flush FALSE\n"), 0o600))
			}
			p, err := Running(live.PID(), live.LogFile())
			switch {
			case c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%v, want %q", err, c.err)
			case err == nil && (!strings.HasPrefix(p.advice, c.advice) || c.advice == "" && p.advice != ""):
				t.Errorf("%q, want %q", p.advice, c.advice)
			}
			if err == nil {
				p.Close()
			}
		})
	}
}
