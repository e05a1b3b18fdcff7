package host

import (
	"fmt"
	"testing"

	"evbench/testing/expect"
)

func TestReadPorts(t *testing.T) {
	const perfquery = `# Port extended counters: Lid 21 port 1 (CapMask: 0x1600 CapMask2: 0x0000000)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................13672645927
PortRcvPkts:.....................2467501178
SymbolErrorCounter:..............3
PortXmitDiscards:................0
PortXmitWait:....................77
# Port counters: Lid 22 port 36 (CapMask: 0x5A00)
PortSelect:......................36
LinkDownedCounter:...............1
`
	for _, tt := range []struct{ name, text, want, err string }{
		{"perfquery", perfquery, "[{lid 21 1 SymbolErrorCounter 3 } {lid 21 1 PortXmitDiscards 0 } {lid 21 1 PortXmitWait 77 } {lid 22 36 LinkDownedCounter 1 }]", ""},
		{"a script's", "# of leaves\nleaf1 spine3 rx_crc_errors 12\n\nleaf1 server5 tx_pfc_frames 9\n", "[{leaf1 spine3 rx_crc_errors 12 } {leaf1 server5 tx_pfc_frames 9 }]", ""},
		{"nothing", "", "[]", ""},
		{"a word", "leaf1 spine3 x many\n", "", "line 1: \"leaf1 spine3 x many\": the value is no count"},
		{"another form", "\nleaf1 x 3\n", "", "line 2: \"leaf1 x 3\": not SWITCH PORT COUNTER VALUE"},
		{"no head", "PortXmitWait:....................77\n", "", "line 1"},
	} {
		got, err := ReadPorts([]byte(tt.text))
		if tt.err != "" {
			expect.Error(t, err, tt.err)
			continue
		}
		expect.Must(t, err)
		expect.Equal(t, fmt.Sprint(got), tt.want, "%s", tt.name)
	}
}
