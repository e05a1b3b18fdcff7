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

// OpenSM's default files.
const (
	defaultConf = "/etc/opensm/opensm.conf" // if it exists
	redHatConf  = "/etc/rdma/opensm.conf"   // where OpenSM is built for that
	defaultLog  = "/var/log/opensm.log"
)

const infoLevel = 0x02

// withValue are the short options of OpenSM that take a value.
const withValue = "FciwOfdDglLstaumXRMUSPYZpnqkCGH"

// settings are OpenSM's options about its log, its tables and its port.
type settings struct {
	runs   bool   // it has a command line: it is not being started or ending just now
	known  bool   // at least the command line
	conf   string // the name of its configuration, as OpenSM has it; "": none
	flush  bool
	level  uint64
	atArgs bool   // the level is on its command line, which precedes the configuration
	engine string // "": its default
	lfts   string
	log    string
	guid   uint64 // of its port; 0: the first
}

// readSettings reads the command line of OpenSM and its configuration, as OpenSM will read it at
// the next SIGHUP.
func readSettings(p *trust.Process) settings {
	args := p.Args()
	conf := confOf(args)
	text, err := atomicfile.Read(p.Sees(conf), atomicfile.MaxList)
	if conf == defaultConf && errors.Is(err, fs.ErrNotExist) {
		if text, err = atomicfile.Read(p.Sees(redHatConf), atomicfile.MaxList); err == nil {
			conf = redHatConf
		} else if errors.Is(err, fs.ErrNotExist) {
			conf = ""
		}
	}
	s := newSettings(conf, string(text), args)
	s.runs = len(args) > 0
	s.known = s.runs && (err == nil || conf == "")
	return s
}

// newSettings reads a configuration, and the command line, which takes precedence.
func newSettings(conf, text string, args []string) settings {
	s := settings{level: 0x03}
	s.lines(text)
	s.args(args)
	s.conf = conf
	return s
}

func confOf(args []string) string {
	s := settings{conf: defaultConf}
	s.args(args)
	return s.conf
}

var longOptions = map[string]byte{"config": 'F', "debug": 'd', "routing_engine": 'R', "lfts_file": 'U', "log_file": 'f', "guid": 'g'}

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
			if short := longOptions[name]; short != 0 {
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
	case 'R':
		s.engine = value
	case 'U':
		s.lfts = value
	case 'f':
		s.log = value
	case 'g':
		s.guid = number(value)
	case 'V':
		s.flush, s.level, s.atArgs = true, 0xff, true
	}
}

// lines reads a configuration. As in OpenSM, the last line of an option counts, any value but TRUE
// is FALSE, and (null) means unset.
func (s *settings) lines(text string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		value := strings.TrimPrefix(f[1], "(null)")
		switch f[0] {
		case "force_log_flush":
			s.flush = value == "TRUE"
		case "log_flags":
			s.level = number(value)
		case "routing_engine", "lfts_file", "log_file", "guid":
			s.option(longOptions[f[0]], value)
		}
	}
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 0, 64)
	return n
}

// change says how to make OpenSM accept a line of its configuration or, if that is impossible, how
// to start it.
func (s *settings) change(p *trust.Process, line, start string) string {
	if s.conf == "" || s.atArgs && strings.HasPrefix(line, "log_flags") {
		return fmt.Sprintf("start it anew, %s or with -F FILE and %q in the file", start, line)
	}
	return fmt.Sprintf("write %q into %s, then: kill -HUP %d", line, s.conf, p.ID.PID)
}
