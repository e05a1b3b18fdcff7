package failures

import (
	"fmt"
	"strings"
	"time"
)

// ParsePeriod reads FROM..TO, each a day or a time of a day. TO is not included,
// and may be left out if FROM is a day: then that day is meant.
func ParsePeriod(s string) (Period, error) {
	from, to, ok := strings.Cut(s, "..")
	a, wholeDay, err := parseMoment(from)
	if err != nil {
		return Period{}, err
	}
	if !ok && wholeDay {
		return Period{a, a.AddDate(0, 0, 1)}, nil
	}
	b, _, err := parseMoment(to)
	if err != nil {
		return Period{}, err
	}
	if !b.After(a) {
		return Period{}, fmt.Errorf("ends at %s, not after it begins; write FROM..TO, TO not included", b.Format(time.DateTime))
	}
	return Period{a, b}, nil
}

func parseMoment(s string) (t time.Time, wholeDay bool, err error) {
	if t, err = time.Parse(time.DateOnly, s); err == nil {
		return t, true, nil
	}
	for _, l := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.RFC3339} {
		if t, err = time.Parse(l, s); err == nil {
			return t.UTC(), false, nil
		}
	}
	return t, false, fmt.Errorf("%.60q: write a day or a time, 2024-03-08 or 2024-03-08T14:00:00", s)
}
