package opensm

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/need"
)

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		args string
		conf string // its text
		want settings
	}{
		{"", "", settings{conf: defaultConf, level: 3}},
		{"-B -f /var/log/opensm.log", "# force_log_flush TRUE\nforce_log_flush\n", settings{conf: defaultConf, level: 3, log: "/var/log/opensm.log"}},
		{"-F own", "force_log_flush TRUE\n", settings{conf: "own", level: 3, flush: true}},
		{"--config own", "force_log_flush FALSE\n  force_log_flush\tTRUE \n", settings{conf: "own", level: 3, flush: true}},
		{"--config=own", "force_log_flush TRUE\nforce_log_flush FALSE\n", settings{conf: "own", level: 3}},
		{"-BFown", "force_log_flush true\nlog_flags 0x01\n", settings{conf: "own", level: 1}},
		{"-d 2", "force_log_flush FALSE\n", settings{conf: defaultConf, level: 3, flush: true}},
		{"-Bd2", "", settings{conf: defaultConf, level: 3, flush: true}},
		{"--debug 0", "", settings{conf: defaultConf, level: 3}},
		{"--debug=2 -d 0", "", settings{conf: defaultConf, level: 3, flush: true}},
		{"-R file -f -d2 -U V", "", settings{conf: defaultConf, level: 3, engine: "file", log: "-d2", lfts: "V"}}, // a log and a file of these names
		{"-D 0x43", "log_flags 0x01\n", settings{conf: defaultConf, level: 0x43, atArgs: true}},
		{"-D1", "log_flags 0x03\n", settings{conf: defaultConf, level: 1, atArgs: true}},
		{"-V", "", settings{conf: defaultConf, level: 0xff, flush: true, atArgs: true}},
		{"-F", "", settings{conf: "", level: 3}},
		{"-g 0x2c9 --routing_engine=file,no_fallback --lfts_file /a --log_file b", "", settings{conf: defaultConf, level: 3, guid: 0x2c9, engine: "file,no_fallback", lfts: "/a", log: "b"}},
		{"-R file", "routing_engine minhop\nlfts_file /t/x\nlog_file (null)\nguid 0x00a\n", settings{conf: defaultConf, level: 3, guid: 10, engine: "file", lfts: "/t/x"}},
	} {
		args := strings.Split("opensm "+c.args, " ")
		expect.Equal(t, newSettings(confOf(args), c.conf, args), c.want, "%s, %q", c.args, c.conf)
	}
}

// TestDefaultConf reads the configuration of an OpenSM that is told of none, as one that systemd starts, in a file system of its own.
func TestDefaultConf(t *testing.T) {
	need.Namespaces(t)
	for _, want := range []string{defaultConf, redHatConf, ""} {
		r, w, err := os.Pipe()
		expect.Must(t, err)
		script := "mount -t tmpfs none /etc || exit; "
		if want != "" {
			script += "mkdir " + filepath.Dir(want) + "; echo lfts_file /x >" + want + "; "
		}
		p := start(t, w, "unshare", "-rm", "sh", "-c", script+"echo ready; read x")
		expect.Must(t, w.Close())
		said, err := bufio.NewReader(r).ReadString('\n')
		expect.MustTrue(t, said == "ready\n" && err == nil, "%q, %v", said, err)
		s := readSettings(p)
		expect.True(t, s.known && s.conf == want && (s.lfts == "/x") == (want != ""), "%+v, want %s", s, want)
	}
}

// TestLogging tells an OpenSM that buffers its log, and one whose log nobody can follow.
func TestLogging(t *testing.T) {
	ibtest.Need(t)
	conf := filepath.Join(t.TempDir(), "own.conf")
	if _, err := os.Stat(defaultConf); !errors.Is(err, os.ErrNotExist) {
		need.Optional(t, "an OpenSM without configuration: it has "+defaultConf)
	}
	for _, c := range []struct {
		name, conf, advice, err string
		args                    []string
	}{
		{"as it is", "", `start it anew, with -d 2 or with -F FILE and "force_log_flush TRUE" in the file`, "", nil},
		{"-F", "lmc 1\n", `write "force_log_flush TRUE" into ` + conf + ", then: kill -HUP ", "", []string{"-F", conf}},
		{"-F, flushing", "force_log_flush TRUE\n", "", "", []string{"-F", conf}},
		{"-d 2", "", "", "", []string{"-d", "2"}},
		{"-e", "force_log_flush TRUE\n", "", `buffers its log, and erases the log on a request to flush it: write "force_log_flush TRUE" into ` + conf, []string{"-e", "-F", conf}},
		{"-e -d 2", "", "", "", []string{"-e", "-d", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Must(t, os.WriteFile(conf, []byte(c.conf), 0o600))
			live := expect.Value(ibtest.Start(t.Context(), networkOf(t, treeOf(t, "FT(2;2,3)").Wires, 1), "minhop", nil, c.args...))(t)
			defer live.Close()
			if c.err != "" { // else it would not come up for us
				expect.Must(t, os.WriteFile(conf, []byte("force_log_flush FALSE\n"), 0o600))
			}
			p := expect.Value(Running(live.PID()))(t)
			defer p.Close()
			_, advice, err := p.logging(live.LogFile())
			switch {
			case c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%v, want %q", err, c.err)
			case err == nil && (!strings.HasPrefix(advice, c.advice) || c.advice == "" && advice != ""):
				t.Errorf("%q, want %q", advice, c.advice)
			}
		})
	}
}
