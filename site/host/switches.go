package host

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"evbench/results"
)

var (
	perfqueryHead = regexp.MustCompile(`^# Port (?:extended )?counters: Lid (\d+) port (\d+)`)
	perfqueryLine = regexp.MustCompile(`^(\w+):\.+(\w+)$`)
)

// ReadPorts reads what a command says of the ports of switches: lines SWITCH PORT COUNTER VALUE, or what perfquery prints of each
// (infiniband-diags), whose switches and adapters are "lid 21". Lines of other forms are refused; # begins a comment.
func ReadPorts(text []byte) (out []results.PortCount, err error) {
	lid, port := "", ""
	scan := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		f := strings.Fields(line)
		head, query := perfqueryHead.FindStringSubmatch(line), perfqueryLine.FindStringSubmatch(line)
		var c results.PortCount
		switch {
		case head != nil:
			lid, port = "lid "+head[1], head[2]
			continue
		case line == "", strings.HasPrefix(line, "#"):
			continue
		case query != nil && lid != "":
			if x := query[1]; strings.HasSuffix(x, "Select") || strings.HasSuffix(x, "Select2") || strings.HasSuffix(x, "Data") || strings.HasSuffix(x, "Pkts") || strings.HasSuffix(x, "Packets") {
				continue // traffic, and what was asked for
			}
			c, f = results.PortCount{Switch: lid, Port: port, Counter: query[1]}, []string{query[2]}
		case len(f) == 4:
			c, f = results.PortCount{Switch: f[0], Port: f[1], Counter: f[2]}, f[3:]
		default:
			return nil, fmt.Errorf("line %d: %.60q: not SWITCH PORT COUNTER VALUE, nor a line of perfquery", n, line)
		}
		if c.Count, err = strconv.ParseUint(f[0], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: %.60q: the value is no count", n, line)
		}
		out = append(out, c)
	}
	return out, scan.Err()
}
