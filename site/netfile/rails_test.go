package netfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

// rail is a subnet of one switch and two hosts, whose adapters have the port of that number there. LIDs are those of every rail.
func rail(guid, port string) string {
	return strings.NewReplacer("GUID", guid, "PORT", port).Replace(`vendid=0x2c9
devid=0xd2f0
switchguid=0xGUID(GUID)
Switch	4 "S-GUID"		# "railGUID" enhanced port 0 lid 3 lmc 0
[1]	"H-a0"[PORT](a1PORT)		# "gpu0" lid 1 4xNDR
[2]	"H-b0"[PORT](b1PORT)		# "gpu1" lid 2 4xNDR

caguid=0xa0
Ca	2 "H-a0"		# "gpu0"
[PORT](a1PORT)	"S-GUID"[1]		# lid 1 lmc 0 "railGUID" lid 3 4xNDR

caguid=0xb0
Ca	2 "H-b0"		# "gpu1"
[PORT](b1PORT)	"S-GUID"[2]		# lid 2 lmc 0 "railGUID" lid 3 4xNDR
`)
}

// Files of rails with a subnet manager each are one network: adapters are joined, LIDs moved, tables of one refused.
func TestReadRails(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		expect.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	one, two := file("one.net", rail("c1", "1")), file("two.net", rail("c2", "2"))
	s := expect.Value(netfile.Read(one+","+two, 0))(t)
	expect.Equal(t, s.Net.Hosts(), 4, "ports of adapters")
	expect.Equal(t, s.Net.Switches(), 2, "switches")
	expect.True(t, s.Net.Disconnected() != nil, "rails are networks of their own")
	lids := map[uint16]bool{}
	for v := range s.Net.Nodes() {
		lids[s.Net.Info(network.Node(v)).LID] = true
	}
	expect.Equal(t, len(lids), 6, "LIDs")
	_, err := lft.Read(strings.NewReader("Unicast lids [0x0-0x3] of switch Lid 3 guid 0x00000000000000c1 (railc1):\n"), s.Net)
	expect.Error(t, err, "tables belong to one subnet, and the network is of 2 files")
	_, err = netfile.Read(one+","+one, 0)
	expect.Error(t, err, `one.net: "railc1" stands in an earlier file, too`)
	_, err = netfile.Read(one+","+filepath.Join(dir, "three.net"), 0)
	expect.Error(t, err, "neither a file nor a notation")
}
