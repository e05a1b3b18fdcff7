package host

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/sysfs"
	"golang.org/x/sys/unix"

	"evbench/results"
)

// countersNow sums up what the adapters of this machine, or of its network namespace, have counted. Drops of /proc/net/dev are
// left out: a queue of a socket may be full.
func countersNow(fs procfs.FS) (c results.Counters) {
	if dev, err := fs.NetDev(); err == nil {
		for name, d := range dev {
			if name != "lo" {
				c.Errors += d.RxErrors + d.TxErrors + carrierLost(name)
				driverCounters(name, func(name string, x uint64) { driverCounter(&c, name, x) })
			}
		}
	}
	sys, err := sysfs.NewDefaultFS()
	if err != nil {
		return c
	}
	class, err := sys.InfiniBandClass()
	if err != nil {
		return c
	}
	for _, device := range class {
		for _, port := range device.Ports {
			p := port.Counters
			add(&c.Errors, p.SymbolError, p.LinkErrorRecovery, p.LinkDowned, p.LocalLinkIntegrityErrors, p.PortRcvErrors, p.PortRcvRemotePhysicalErrors)
			add(&c.XmitWait, p.PortXmitWait)
			add(&c.Discards, p.PortXmitDiscards, p.PortRcvDiscards)
			add(&c.Marks, port.HwCounters.NpEcnMarkedRocePackets)
		}
	}
	return c
}

// carrierLost is how often an interface has lost its carrier: the cable, or what is at its other end.
func carrierLost(name string) uint64 {
	text, _ := os.ReadFile(filepath.Join("/sys/class/net", name, "carrier_down_count"))
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}

func add(to *uint64, of ...*uint64) {
	for _, x := range of {
		if x != nil {
			*to += *x
		}
	}
}

// What drivers call pauses by priority or of the whole link: rx_prio3_pause and tx_global_pause (mlx5), tx_flow_control_xoff and rx_pb_3_pxoff
// (ixgbe), rx_priority_3_xoff.nic and link_xoff_tx (ice, i40e), tx_pfc_frames (bnxt). The ends of pauses and their lengths are others.
var pause = regexp.MustCompile(`^(?:port\.)?(?:link_xoff_([rt]x)|([rt]x)_(?:prio\d_pause|global_pause|flow_control_xoff|pb_\d_pxoff|priority_\d_xoff|pfc_frames|pause_frames))(?:\.nic)?$`)

// driverCounter adds a counter of ethtool -S by its name. One that is not known here counts nothing.
func driverCounter(c *results.Counters, name string, x uint64) {
	switch name {
	case "rx_symbol_err_phy", "link_down_events_phy":
		c.Errors += x
	case "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer", "rx_no_dma_resources", "rx_missed_errors", "port.rx_discards":
		c.Discards += x
	case "rx_ecn_mark":
		c.Marks += x
	default:
		switch m := pause.FindStringSubmatch(name); {
		case m == nil:
		case m[1]+m[2] == "tx":
			c.PausesSent += x
		default:
			c.PausesReceived += x
		}
	}
}

// driverCounters calls do for each counter that ethtool -S prints of an interface; not at all where its driver has none.
func driverCounters(name string, do func(name string, x uint64)) {
	const nameBytes, most, statistics = 32, 1 << 16, 1 // ETH_SS_STATS
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	if err != nil || info.N_stats == 0 || info.N_stats > most {
		return
	}
	n := int(info.N_stats)
	order := binary.NativeEndian
	names := make([]byte, 12+n*nameBytes) // struct ethtool_gstrings
	order.PutUint32(names, unix.ETHTOOL_GSTRINGS)
	order.PutUint32(names[4:], statistics)
	order.PutUint32(names[8:], info.N_stats)
	values := make([]byte, 8+8*n) // struct ethtool_stats
	order.PutUint32(values, unix.ETHTOOL_GSTATS)
	order.PutUint32(values[4:], info.N_stats)
	if !ethtool(fd, name, names) || !ethtool(fd, name, values) || order.Uint32(names[8:]) != info.N_stats || order.Uint32(values[4:]) != info.N_stats {
		return
	}
	for i := range n {
		text := unix.ByteSliceToString(names[12+i*nameBytes:][:nameBytes])
		do(strings.TrimSpace(text), order.Uint64(values[8+8*i:]))
	}
}

// ethtool asks the kernel for what data begins to say, and has it filled.
func ethtool(fd int, name string, data []byte) bool {
	var request struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}
	if copy(request.name[:unix.IFNAMSIZ-1], name) < len(name) {
		return false
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&data[0])
	request.data = unsafe.Pointer(&data[0])
	_, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return err == 0
}
