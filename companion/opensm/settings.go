package opensm

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/internal/trust"
)

// defaultConf is the configuration that OpenSM reads, if it is there, when it is given none.
const defaultConf = "/etc/opensm/opensm.conf"

const infoLevel = 0x02

// withValue are the short options of OpenSM that take a value.
const withValue = "FciwOfdDglLstaumXRMUSPYZpnqkCGH"

// settings are what decides when OpenSM writes a line of its log, and which.
type settings struct {
	conf   string // the name of its configuration, as OpenSM has it; "": it has none
	flush  bool
	level  uint64
	atArgs bool // the level is on its command line, which counts before the configuration
}

// readSettings reads the command line of OpenSM and its configuration. The line of a
// configuration counts that OpenSM will read at the next SIGHUP.
func readSettings(p *trust.Process) settings {
	s := settings{conf: defaultConf, level: 0x03}
	s.args(p.Args())
	text, err := atomicfile.Read(p.Sees(s.conf), atomicfile.MaxList)
	if err != nil {
		if s.conf == defaultConf && errors.Is(err, fs.ErrNotExist) {
			s.conf = ""
		}
		return s
	}
	s.lines(string(text))
	return s
}

// args reads options as getopt does.
func (s *settings) args(args []string) {
	for i := 1; i < len(args); i++ {
		arg := args[i]
		next := func() string {
			if i+1 == len(args) {
				return ""
			}
			i++
			return args[i]
		}
		if long, ok := strings.CutPrefix(arg, "--"); ok {
			name, value, given := strings.Cut(long, "=")
			if short := map[string]byte{"config": 'F', "debug": 'd'}[name]; short != 0 {
				if !given {
					value = next()
				}
				s.option(short, value)
			}
			continue
		}
		for k := 1; k < len(arg) && arg[0] == '-'; k++ {
			if !strings.ContainsRune(withValue, rune(arg[k])) {
				s.option(arg[k], "")
				continue
			}
			value := arg[k+1:]
			if value == "" {
				value = next()
			}
			s.option(arg[k], value)
			break
		}
	}
}

func (s *settings) option(short byte, value string) {
	switch short {
	case 'F':
		s.conf = value
	case 'd':
		s.flush = s.flush || number(value) == 2
	case 'D':
		s.level, s.atArgs = number(value), true
	case 'V':
		s.flush, s.level, s.atArgs = true, 0xff, true
	}
}

// lines reads a configuration. As in OpenSM, the last line of an option counts, and whatever is
// not TRUE is FALSE.
func (s *settings) lines(text string) {
	flush := false
	for line := range strings.Lines(text) {
		switch f := strings.Fields(line); {
		case len(f) < 2:
		case f[0] == "force_log_flush":
			flush = f[1] == "TRUE"
		case f[0] == "log_flags" && !s.atArgs:
			s.level = number(f[1])
		}
	}
	s.flush = s.flush || flush
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 0, 64)
	return n
}

// change says how to have OpenSM take a line of its configuration or, where that cannot be,
// how to start it.
func (s *settings) change(p *trust.Process, line, start string) string {
	if s.conf == "" || s.atArgs && strings.HasPrefix(line, "log_flags") {
		return fmt.Sprintf("start it anew, %s or with -F FILE and %q in the file", start, line)
	}
	return fmt.Sprintf("write %q into %s, then: kill -HUP %d", line, s.conf, p.ID.PID)
}
