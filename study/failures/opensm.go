package failures

import (
	"bytes"
	"strconv"
	"strings"
)

// A verdict is what a line is good for.
type verdict uint8

const (
	other verdict = iota // says nothing of ports
	good
	cut // should say something, but is incomplete
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

// told reports whether a line without a stamp tells of a port.
func told(line []byte) bool {
	return bytes.Contains(line, changed) || bytes.Contains(line, unlinking)
}

// parseLine reads what follows the stamp.
//
// Upstream OpenSM says (log.h levels 0x02 and 0x04, osm_port_info_rcv.c,
// osm_drop_mgr.c):
//
//	log_notice: Reporting Urgent Notice "Link state change" from switch LID 33, GUID 0x…
//	pi_rcv_process_switch_ext_port: Unlinking local node 0x…, port 5
//	drop_mgr_remove_port: Removed port with GUID:0x… LID range [10, 10] of node:h9
//	log_notice: Reporting Informational Notice "GID in service", GID:fe80::2:c904:200:2
//
// NVIDIA's says, from osm_spst_rcv_process or osm_pi_rcv_process:
//
//	Switch 0x… NAME port 61 (LABEL) changed state from ACTIVE to DOWN
func parseLine(b []byte) (record, verdict) {
	switch {
	case bytes.Contains(b, portState):
		return parseState(string(b))
	case bytes.Contains(b, unlinking):
		return parseUnlinking(string(b))
	case bytes.Contains(b, change128):
		return parseNotice(string(b))
	case bytes.Contains(b, removed):
		guid, ok := leadingHex(after(string(b), string(removed)))
		return record{kind: nodeGone, guid: guid}, is(ok)
	case bytes.Contains(b, inService):
		guid, ok := gidGUID(after(string(b), string(inService)))
		return record{kind: nodeBack, guid: guid}, is(ok)
	case bytes.HasSuffix(b, subnetUp):
		return record{kind: swept}, good
	}
	return record{}, other
}

func is(ok bool) verdict {
	if ok {
		return good
	}
	return cut
}

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// parseState reads NVIDIA's line. Names of switches may hold anything, " port "
// included, so it is read from both ends.
func parseState(s string) (record, verdict) {
	s = after(s, "_rcv_process: Switch ")
	i := strings.LastIndex(s, string(changed))
	if i < 0 {
		return record{}, cut
	}
	from, to, ok := strings.Cut(s[i+len(changed):], " to ")
	k, known := kindOf(from, to)
	r, found := parseWhere(s[:i])
	if r.kind = k; !ok || !known || !found {
		return record{}, cut
	}
	return r, good
}

// parseWhere reads "0x… NAME port 61 (LABEL)".
func parseWhere(s string) (record, bool) {
	i := strings.LastIndex(s, " port ")
	if i < 0 {
		return record{}, false
	}
	number, label, _ := strings.Cut(s[i+len(" port "):], " ")
	port, ok := portNumber(number)
	if !ok || label != "" && (label[0] != '(' || label[len(label)-1] != ')') {
		return record{}, false
	}
	id, name, _ := strings.Cut(s[:i], " ")
	guid, ok := wholeHex(id)
	return record{guid: guid, name: strings.TrimSpace(name), port: port}, ok
}

// kindOf reads the states of a port, before and after. A repeated state is no change.
func kindOf(from, to string) (kind, bool) {
	a, ok1 := stateDown(from)
	b, ok2 := stateDown(to)
	switch {
	case !ok1 || !ok2:
		return 0, false
	case b:
		return wentDown, true
	case a:
		return cameUp, true
	}
	return progressed, true
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

func parseUnlinking(s string) (record, verdict) {
	node, port, ok := strings.Cut(after(s, string(unlinking)), ", port ")
	guid, ok1 := wholeHex(node)
	number, ok2 := portNumber(port)
	return record{kind: unlinked, guid: guid, port: number}, is(ok && ok1 && ok2)
}

func parseNotice(s string) (record, verdict) {
	_, id, ok := strings.Cut(after(s, string(change128)), ", GUID ")
	guid, ok1 := leadingHex(id)
	return record{kind: noticed, guid: guid}, is(ok && ok1)
}

func portNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil && n > 0 && n < 255
}

func wholeHex(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, ok && err == nil && n != 0
}

// leadingHex reads a GUID of full length, so that a cut one is told from another.
func leadingHex(s string) (uint64, bool) {
	if i := strings.IndexAny(s, " ,\t"); i >= 0 {
		s = s[:i]
	}
	if len(s) != len("0x0002c90401000000") {
		return 0, false
	}
	return wholeHex(s)
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
