package tables

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/results"
	"evbench/scenario"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

// Ports by LID and number get the names of their cables from the network's file: both ends, parallel ones apart, of servers those of
// their adapter, too. Others stay as they are.
func TestPortNames(t *testing.T) {
	read := func(more string) *scenario.Scenario {
		return expect.Value(scenario.Files{}.Read("x.yaml", strings.NewReader("topology: PGFT(2;2,2;1,2;1,2)\nfabric: {kind: hosts}\ncounters: {command: perfquery"+more+"}\ncases: [{schedule: linear-shift}]\n")))(t)
	}
	n := expect.Value(network.TreeShape(read("").Tree.Shape).Build(0))(t)
	file := filepath.Join(t.TempDir(), "net.txt")
	var text bytes.Buffer
	expect.OK(t, netfile.WriteIB(&text, n))
	expect.OK(t, os.WriteFile(file, text.Bytes(), 0o600))

	of := []results.PortCount{{Switch: "lid 1", Port: "40", Counter: "PortXmitWait", Count: 9}, {Switch: "leaf0", Port: "spine1", Counter: "x", Count: 1}}
	for _, v := range []network.Node{n.Leaf(0).Node, 0} {
		for port := range n.Ends(v) {
			of = append(of, results.PortCount{Switch: fmt.Sprint("lid ", n.Info(v).LID), Port: fmt.Sprint(port + 1), Counter: "SymbolErrorCounter", Count: uint64(port)})
		}
	}
	got := expect.Value(PortNames(read(", network: " + file)))(t)(of)
	expect.Equal(t, strings.Trim(strings.ReplaceAll(fmt.Sprint(got), "} {", "\n"), "[{}]"), `lid 1 40 PortXmitWait 9 
leaf0 spine1 x 1 
leaf0 server0 SymbolErrorCounter 0 
leaf0 server1 SymbolErrorCounter 1 
leaf0 spine0 SymbolErrorCounter 2 leaf0-spine0/0
leaf0 spine0 SymbolErrorCounter 3 leaf0-spine0/1
leaf0 spine1 SymbolErrorCounter 4 leaf0-spine1/0
leaf0 spine1 SymbolErrorCounter 5 leaf0-spine1/1
server0 leaf0 SymbolErrorCounter 0 `, "names")
	expect.Equal(t, fmt.Sprint(expect.Value(PortNames(read("")))(t)(of)), fmt.Sprint(of), "without a file")
	expect.Error(t, expect.Err(PortNames(read(", network: nothing"))), "nothing")
}
