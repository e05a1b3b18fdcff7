// Package osmlog parses lines of OpenSM's log about ports and nodes, from upstream OpenSM and
// NVIDIA's. Times are microseconds without a year. It opens no file and reads no clock.
package osmlog

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Kind is the event of a line.
type Kind uint8

// The events of lines. The first three give the state of a port, as NVIDIA's OpenSM logs it; the
// rest are upstream's.
const (
	WentDown   Kind = iota // a port: any state to DOWN
	CameUp                 // a port: DOWN to another state
	Progressed             // a port: between other states
	Unlinked               // a port of a switch lost its neighbour
	Noticed                // a switch reports a change of one of its ports
	NodeGone               // a node is no longer reachable
	NodeBack               // a node is reachable again
	Swept                  // the subnet is configured again
)

// A Message is a line's event with its port or node.
type Message struct {
	Kind Kind
	GUID uint64 // of the switch; of a port of an adapter for NodeGone and NodeBack; 0 for Swept
	Name string // of the switch, if the line has it
	Port int    // 0 for the kinds from Noticed on
}

type Line struct {
	Stamped bool          // it begins with a time
	At      time.Duration // since the start of a leap year, whole microseconds
	Message               // if the line is Good
}

// A Verdict says whether a line is usable.
type Verdict uint8

// Verdicts on a line. Only a stamped line is Good.
const (
	Other Verdict = iota // not about ports
	Good
	Cut // should be about ports, but is incomplete
)

var (
	changed   = []byte(" changed state from ")
	portState = []byte("_rcv_process: Switch 0x")
	unlinking = []byte("Unlinking local node ")
	change128 = []byte(`"Link state change" from switch LID `)
	removed   = []byte("drop_mgr_remove_port: Removed port with GUID:")
	inService = []byte(`"GID in service", GID:`)
	subnetUp  = []byte("SUBNET UP")
)

// Parse parses one line, with or without its line end.
func Parse(line []byte) (l Line, v Verdict) {
	at, rest, ok := readStamp(line)
	switch {
	case ok:
		l.Stamped, l.At = true, at
		l.Message, v = parseMessage(bytes.TrimRight(rest, "\r\n"))
	case bytes.Contains(line, changed) || bytes.Contains(line, unlinking):
		v = Cut
	}
	return l, v
}

// parseMessage parses the text after the stamp.
//
// Upstream OpenSM writes (log.h levels 0x02 and 0x04, osm_port_info_rcv.c, osm_drop_mgr.c):
//
//	log_notice: Reporting Urgent Notice "Link state change" from switch LID 33, GUID 0x…
//	pi_rcv_process_switch_ext_port: Unlinking local node 0x…, port 5
//	drop_mgr_remove_port: Removed port with GUID:0x… LID range [10, 10] of node:h9
//	log_notice: Reporting Informational Notice "GID in service", GID:fe80::2:c904:200:2
//
// NVIDIA's writes, from osm_spst_rcv_process or osm_pi_rcv_process:
//
//	Switch 0x… NAME port 61 (LABEL) changed state from ACTIVE to DOWN
func parseMessage(b []byte) (Message, Verdict) {
	switch {
	case bytes.Contains(b, portState):
		return parseState(string(b))
	case bytes.Contains(b, unlinking):
		return parseUnlinking(string(b))
	case bytes.Contains(b, change128):
		return parseNotice(string(b))
	case bytes.Contains(b, removed):
		guid, ok := leadingHex(after(string(b), string(removed)))
		return Message{Kind: NodeGone, GUID: guid}, is(ok)
	case bytes.Contains(b, inService):
		guid, ok := gidGUID(after(string(b), string(inService)))
		return Message{Kind: NodeBack, GUID: guid}, is(ok)
	case bytes.HasSuffix(b, subnetUp):
		return Message{Kind: Swept}, Good
	}
	return Message{}, Other
}

func is(ok bool) Verdict {
	if ok {
		return Good
	}
	return Cut
}

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// parseState parses NVIDIA's line. Names of switches may contain anything, even " port ", so it
// reads from both ends.
func parseState(s string) (Message, Verdict) {
	s = after(s, "_rcv_process: Switch ")
	i := strings.LastIndex(s, string(changed))
	if i < 0 {
		return Message{}, Cut
	}
	from, to, ok := strings.Cut(s[i+len(changed):], " to ")
	k, known := kindOf(from, to)
	r, found := parseWhere(s[:i])
	if r.Kind = k; !ok || !known || !found {
		return Message{}, Cut
	}
	return r, Good
}

// parseWhere reads "0x… NAME port 61 (LABEL)".
func parseWhere(s string) (Message, bool) {
	i := strings.LastIndex(s, " port ")
	if i < 0 {
		return Message{}, false
	}
	number, label, _ := strings.Cut(s[i+len(" port "):], " ")
	port, ok := Port(number)
	if !ok || label != "" && (label[0] != '(' || label[len(label)-1] != ')') {
		return Message{}, false
	}
	id, name, _ := strings.Cut(s[:i], " ")
	guid, ok := GUID(id)
	return Message{GUID: guid, Name: strings.TrimSpace(name), Port: port}, ok
}

// kindOf maps the states of a port, before and after. A repeated state is no change.
func kindOf(from, to string) (Kind, bool) {
	a, ok1 := stateDown(from)
	b, ok2 := stateDown(to)
	switch {
	case !ok1 || !ok2:
		return 0, false
	case b:
		return WentDown, true
	case a:
		return CameUp, true
	}
	return Progressed, true
}

// States reads the state of a port after a change, or both states: "DOWN", "ACTIVE to DOWN",
// "from ACTIVE to DOWN" or "ACTIVE->DOWN".
func States(s string) (Kind, bool) {
	s = strings.TrimPrefix(strings.ToUpper(s), "FROM ")
	for _, sep := range []string{" TO ", "->", "→"} {
		if from, to, ok := strings.Cut(s, sep); ok {
			return kindOf(from, to)
		}
	}
	down, ok := stateDown(s)
	switch {
	case down:
		return WentDown, ok
	case strings.HasPrefix(s, "A"): // ARMED or ACTIVE: the last steps of coming up
		return Progressed, ok
	}
	return CameUp, ok
}

// stateDown reads the state of a port and reports whether it is DOWN.
func stateDown(s string) (down, ok bool) {
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "DOWN":
		return true, true
	case "INIT", "INITIALIZE", "ARMED", "ACTIVE", "UP":
		return false, true
	}
	return false, false
}

func parseUnlinking(s string) (Message, Verdict) {
	node, port, ok := strings.Cut(after(s, string(unlinking)), ", port ")
	guid, ok1 := GUID(node)
	number, ok2 := Port(port)
	return Message{Kind: Unlinked, GUID: guid, Port: number}, is(ok && ok1 && ok2)
}

func parseNotice(s string) (Message, Verdict) {
	_, id, ok := strings.Cut(after(s, string(change128)), ", GUID ")
	guid, ok1 := leadingHex(id)
	return Message{Kind: Noticed, GUID: guid}, is(ok && ok1)
}

// Port reads the number of a port, 1..254.
func Port(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil && n > 0 && n < 255
}

// GUID reads a number such as 0x2c90401000000, which is not 0.
func GUID(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, ok && err == nil && n != 0
}

// leadingHex reads a GUID of full length, to detect a truncated one.
func leadingHex(s string) (uint64, bool) {
	if i := strings.IndexAny(s, " ,\t"); i >= 0 {
		s = s[:i]
	}
	if len(s) != len("0x0002c90401000000") {
		return 0, false
	}
	return GUID(s)
}

// gidGUID reads the lower half of a GID written as an IPv6 address.
func gidGUID(s string) (uint64, bool) {
	s = strings.TrimSpace(s)
	if _, tail, ok := strings.Cut(s, "::"); ok {
		s = tail
	}
	groups := strings.Split(s, ":")
	if len(groups) > 4 {
		groups = groups[len(groups)-4:]
	}
	guid := uint64(0)
	for _, g := range groups {
		n, err := strconv.ParseUint(g, 16, 16)
		if err != nil {
			return 0, false
		}
		guid = guid<<16 | n
	}
	return guid, guid != 0
}

// monthDays maps month and day to days since 1 January of a leap year.
var monthDays = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for d := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() == 2000; d = d.AddDate(0, 0, 1) {
		all[d.Format("Jan 02")] = d.YearDay() - 1
	}
	return all
})

// readStamp reads "Nov 21 01:28:17 867263 ", the head of a line of OpenSM's
// log, and returns the rest of the line.
func readStamp(line []byte) (at time.Duration, rest []byte, ok bool) {
	const clock = len("Nov 21 01:28:17 ")
	if len(line) < clock+7 || line[3] != ' ' || line[6] != ' ' || line[9] != ':' || line[12] != ':' || line[15] != ' ' || line[22] != ' ' {
		return 0, line, false
	}
	head := [6]byte(line[:6])
	if head[4] == ' ' {
		head[4] = '0'
	}
	days, ok := monthDays()[string(head[:])]
	h, ok1 := digits(line[7:9], 23)
	m, ok2 := digits(line[10:12], 59)
	s, ok3 := digits(line[13:15], 60)
	us, ok4 := digits(line[16:22], 999_999)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 {
		return 0, line, false
	}
	at = time.Duration(days*24+h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(min(s, 59))*time.Second +
		time.Duration(us)*time.Microsecond
	return at, line[23:], true
}

func digits(b []byte, most int) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= most
}
