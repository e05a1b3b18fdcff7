package failures

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"strings"

	"evbench/internal/atomicfile"
)

// Words are what a user wrote of logs, "" and 0 where nothing. Errors name flags of evbench.
type Words struct {
	Logs    []string // files; "-": standard input
	Flag    string   // that names the logs; "": they are arguments
	Year    int      // of the earliest line
	Cables  string   // file with a map of cables
	Exclude []string // test periods
}

// Periods returns the test periods.
func (w Words) Periods() (out []Period, err error) {
	for _, text := range w.Exclude {
		p, err := ParsePeriod(text)
		if err != nil {
			return nil, fmt.Errorf("--exclude %q: %w", text, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Read joins the logs. A file of cables takes the place of those given; nil joins no ends.
func (w Words) Read(cables *Cables) (*History, error) {
	if w.Cables != "" {
		var err error
		if cables, err = readCables(w.Cables); err != nil {
			return nil, fmt.Errorf("--cables: %s: %w", w.Cables, err)
		}
	}
	var logs []*Log
	for _, name := range w.Logs {
		l, err := readLog(name)
		switch {
		case err != nil && w.Flag != "":
			return nil, fmt.Errorf("%s: %w", w.Flag, err)
		case err != nil:
			return nil, err
		case !l.Dated() && w.Year == 0:
			return nil, fmt.Errorf("%s: its times have no year; say when its first line was written with --year 2024", strings.TrimSpace(w.Flag+" "+name))
		}
		logs = append(logs, l)
	}
	return Join(logs, Options{Year: w.Year, Cables: cables})
}

func readCables(name string) (*Cables, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	return ReadCables(atomicfile.Bound(f, atomicfile.MaxList))
}

// readLog reads a log, which may be compressed as rotated logs are.
func readLog(name string) (*Log, error) {
	if name == "-" {
		return Read(os.Stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(name, ".gz") {
		return Read(f, name)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return Read(z, name)
}
