package failures

import "bytes"

// A Said is what one line of a subnet manager's log says, for those who follow a log as
// it is written.
type Said struct {
	What What
	// GUID is that of the switch; of a port of an adapter for NodeGone and NodeBack, and
	// 0 for Swept.
	GUID uint64
	Port int // for PortDown and PortUp
}

// A What is the kind of a Said.
type What uint8

// What a line says. Only the first two name a port.
const (
	PortDown      What = iota // a port of a switch has lost its neighbour
	PortUp                    // it has one again
	SwitchChanged             // some port of the switch has changed
	NodeGone                  // a node cannot be reached any more
	NodeBack                  // it can again
	Swept                     // all switches have the tables of the last sweep
)

var whats = map[kind]What{
	wentDown: PortDown, unlinked: PortDown, cameUp: PortUp, noticed: SwitchChanged,
	nodeGone: NodeGone, nodeBack: NodeBack, swept: Swept,
}

// Line reads one line of a log, of either dialect. Lines that say nothing of ports, and
// those that are cut short, are not ok.
func Line(line []byte) (s Said, ok bool) {
	_, rest, ok := readStamp(line)
	if !ok {
		return Said{}, false
	}
	r, verdict := parseLine(bytes.TrimRight(rest, "\r\n"))
	what, known := whats[r.kind]
	if verdict != good || !known {
		return Said{}, false
	}
	return Said{What: what, GUID: r.guid, Port: r.port}, true
}
