package failures

import (
	"bufio"
	"cmp"

	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/site/osmlog"
)

// ufmLine begins an entry of UFM's event log (/opt/ufm/log/event.log): time, number of the entry, number of
// the event, severity.
var ufmLine = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d+ \[\d+\] \[\d+\] [A-Z]+ `)

// fabricManager begins a line of the log of NVLink's fabric manager.
var fabricManager = regexp.MustCompile(`^\[[A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2}\] \[[A-Z]+\] \[tid \d+\]`)

// ufmLink is UFM's event 328 or 329, with the two ends of the link: kind and name, GUID, port. As in
//
//	2024-06-20 07:46:24.442 [901] [329] WARNING [Hardware] Link [l1]: Link went down: (Switch:t3:1/17/1)9c0591030090e000:33 - (Switch:t4:1/4/2)fc6a1c0300244e00:8, cable S/N: MT1
var ufmLink = sync.OnceValue(func() *regexp.Regexp {
	const end = `\((\w+):(.*?)\)([0-9a-f]{1,16}):(\d{1,3})`
	return regexp.MustCompile(`^(\S+ \S+) \[\d+\] \[(?:328|329)\] .*: Link (went down|is up|went up): ` + end + ` - ` + end)
})

var ufmAbout = regexp.MustCompile(` \[(?:328|329)\] .*: Link (?:went down|is up|went up): `)

// A ufmEnd is the end of a link that stands for it: a switch, else as it is.
type ufmEnd struct {
	sw   bool
	guid uint64
	port int
}

// readUFM reads UFM's event log. A line has both ends of a link, of which one counts: the same in all lines.
func (l *Log) readUFM(b *bufio.Reader) error {
	err := l.each(b, func(line []byte) {
		if text := strings.TrimRight(string(line), "\r\n"); ufmAbout.MatchString(text) {
			l.ufm(text)
		}
	})
	l.inOrder()
	return err
}

func (l *Log) ufm(line string) {
	m := ufmLink().FindStringSubmatch(line)
	if m == nil {
		l.losses.Cut++
		return
	}
	at, err := readTime(m[1])
	first, second, ok := ufmEndOf(m[3:7]), ufmEndOf(m[7:11]), err == nil && at.Year() > 0
	if second.before(first) {
		first = second
	}
	if !ok || first.guid == 0 || first.port == 0 {
		l.losses.Cut++
		return
	}
	kind := osmlog.CameUp
	if m[2] == "went down" {
		kind = osmlog.WentDown
	}
	l.add(record{at: stampOf(at), Message: osmlog.Message{Kind: kind, GUID: first.guid, Port: first.port}})
}

func ufmEndOf(m []string) ufmEnd {
	guid, _ := strconv.ParseUint(m[2], 16, 64)
	port, _ := strconv.Atoi(m[3])
	return ufmEnd{m[0] == "Switch", guid, port}
}

func (a ufmEnd) before(b ufmEnd) bool {
	if a.sw != b.sw {
		return a.sw
	}
	return cmp.Or(cmp.Compare(a.guid, b.guid), cmp.Compare(a.port, b.port)) < 0
}

// inOrder sorts records with years by their times.
func (l *Log) inOrder() {
	slices.SortStableFunc(l.records, func(a, b record) int { return cmp.Compare(a.at.micros(), b.at.micros()) })
	l.dated, l.stated = true, true
	if n := len(l.records); n > 0 {
		l.span, l.stamped = [2]stamp{l.records[0].at, l.records[n-1].at}, true
	}
}
