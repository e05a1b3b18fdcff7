package host

import (
	"fmt"
	"strings"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
)

// The lines are those of ethtool -S.
func TestDriverCounter(t *testing.T) {
	for _, tt := range []struct {
		driver, text string
		want         results.Counters
	}{
		{"mlx5", `     rx_packets: 9000
     rx_ecn_mark: 7
     rx_out_of_buffer: 1
     rx_discards_phy: 20
     tx_discards_phy: 300
     rx_symbol_err_phy: 5
     rx_pcs_symbol_err_phy: 6
     tx_pause_ctrl_phy: 99
     rx_prio3_pause: 11
     rx_prio3_pause_duration: 4000
     tx_prio3_pause: 2
     tx_prio0_pause: 1
     rx_prio3_pause_transition: 8
     tx_global_pause: 40`, results.Counters{Errors: 5, PausesSent: 43, PausesReceived: 11, Marks: 7, Discards: 321}},
		{"ixgbe", `     rx_crc_errors: 4
     rx_no_dma_resources: 3
     tx_flow_control_xon: 80
     rx_flow_control_xon: 81
     tx_flow_control_xoff: 5
     rx_flow_control_xoff: 6
     tx_pb_3_pxon: 90
     tx_pb_3_pxoff: 10
     rx_pb_7_pxoff: 20`, results.Counters{PausesSent: 15, PausesReceived: 26, Discards: 3}},
		{"ice", "     rx_priority_3_xoff.nic: 4\n     tx_priority_3_xoff.nic: 5\n     tx_priority_3_xon.nic: 50\n     rx: 9", results.Counters{PausesSent: 5, PausesReceived: 4}},
		{"veth", "     peer_ifindex: 12\n     rx_queue_0_xdp_packets: 8", results.Counters{}},
	} {
		var c results.Counters
		for _, line := range strings.Split(tt.text, "\n") {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			var x uint64
			fmt.Sscan(value, &x)
			driverCounter(&c, name, x)
		}
		expect.Equal(t, c, tt.want, "%s", tt.driver)
	}
}

// The kernel answers for interfaces of this machine, or has no counters: nothing breaks.
func TestDriverCounters(t *testing.T) {
	driverCounters("lo", func(string, uint64) {})
	driverCounters("no-such-interface", func(name string, _ uint64) { t.Error(name) })
	driverCounters(strings.Repeat("x", 40), func(name string, _ uint64) { t.Error(name) })
}
