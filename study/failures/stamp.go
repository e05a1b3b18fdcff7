package failures

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A stamp is a time that may lack its year: years count from the log's own first line unless
// absolute. The time within the year is in microseconds of a leap year, so that stamps can be
// compared before the year is known.
type stamp struct {
	year int
	at   int64
}

const (
	day     = int64(24 * time.Hour / time.Microsecond)
	yearLen = 366 * day
)

// leap is the leap year of stamps without a year.
var leap = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (a stamp) micros() int64 { return int64(a.year)*yearLen + a.at }

func (a stamp) less(b stamp) bool { return a.micros() < b.micros() }

// time gives the stamp its year. 29 February of another year is an error.
func (a stamp) time(base int) (time.Time, error) {
	t := leap.Add(time.Duration(a.at) * time.Microsecond)
	r := time.Date(base+a.year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	if r.Day() != t.Day() {
		return r, fmt.Errorf("there is no %s in %d; is the year right?", t.Format("2 January"), base+a.year)
	}
	return r, nil
}

func stampOf(t time.Time) stamp {
	t = t.UTC()
	in := time.Date(2000, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	return stamp{t.Year(), in.Sub(leap).Microseconds()}
}

type clock struct {
	first, last stamp // last is the latest so far
	started     bool
	steps       int
	rollovers   int
	back        bool // the clock was set back and has not caught up
	wasAhead    bool // the last tick found that the clock had been wrong before
}

// jitter is how far lines of different threads may be out of order. ahead is the largest step back
// of a clock after which earlier times are believed (a machine may start without knowing the date).
const (
	jitter = int64(time.Second / time.Microsecond)
	ahead  = day
)

// tick takes the next stamp without a year. A step back by more than half a year is the turn of the
// year. A smaller one means that the clock was set back: until it has caught up, times are not
// known, only their order is, and the latest time so far stands for them (held). After a step back
// by more than a day the times before are the unknown ones: see wasAhead.
func (c *clock) tick(at int64) (s stamp, held bool) {
	s, c.wasAhead = stamp{c.last.year, at}, false
	if !c.started {
		c.started, c.first, c.last = true, s, s
		return s, false
	}
	early := stamp{c.last.year - 1, at}
	switch gap := s.micros() - c.last.micros(); {
	case gap < -yearLen/2:
		s.year++
		c.rollovers++
	case gap > yearLen/2 && c.last.micros()-early.micros() <= jitter:
		return early, false // written late, just after the turn of the year
	}
	if !s.less(c.last) {
		c.last, c.back = s, false
		return s, false
	}
	behind := c.last.micros() - s.micros()
	switch {
	case !c.back && behind <= jitter:
		return s, false
	case behind > ahead:
		c.steps++
		c.last, c.back, c.wasAhead = s, false, true
		if s.less(c.first) {
			c.first = s
		}
		return s, false
	}
	if !c.back {
		c.back = true
		c.steps++
	}
	return c.last, true
}

// firstYears returns how many years after the first log each log begins. It places logs without a
// year such that together they span the least time; their order then does not matter if they span
// less than a year. O(n²).
func firstYears(spans [][2]stamp) []int {
	best, length := []int(nil), int64(0)
	starts := slices.Clone(spans)
	slices.SortFunc(starts, func(a, b [2]stamp) int { return cmp.Compare(a[0].at, b[0].at) })
	for _, start := range starts {
		years, last := make([]int, len(spans)), int64(0)
		for i, s := range spans {
			if s[0].at < start[0].at {
				years[i] = 1
			}
			last = max(last, s[1].micros()+int64(years[i])*yearLen)
		}
		if span := last - start[0].at; best == nil || span < length {
			best, length = years, span
		}
	}
	return best
}

var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05Z07:00",
	"Jan 2, 2006 @ 15:04:05.999999999", // as dashboards of OpenSearch write it
}

// readTime reads the time of a CSV row: a full date, or seconds or milliseconds since 1970.
func readTime(s string) (time.Time, error) {
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), nil
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < 1e14 {
		if n >= 1e11 {
			return time.UnixMilli(n).UTC(), nil
		}
		return time.Unix(n, 0).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("time %q: write 2006-01-02T15:04:05Z, with a year", s)
}
