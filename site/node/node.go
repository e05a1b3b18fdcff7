// Package node answers: what makes a machine slow before anything is measured? It reads what a machine says of its
// adapters, their links, slots and interrupts, of its processors, memory and queues (Self), and how fast it copies memory, and
// compares machines that ought to be alike (Compare), which is pure. What a kernel does not say is empty, and never odd.
package node

import (
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/site/host"
)

// A Node is what a machine says of itself.
type Node struct {
	CPU       string    `json:"cpu"`
	Cores     int       `json:"cores"`
	Kernel    string    `json:"kernel"`
	Governor  string    `json:"governor"`
	MemoryMiB int       `json:"memory_mib"`
	HugePages string    `json:"huge_pages"`            // transparent ones: always, madvise, never
	HugeCount int       `json:"huge_pages_kept"`       // of those set aside
	Backlog   int       `json:"netdev_max_backlog"`    // packets that may wait for a processor
	Received  uint64    `json:"packets_received"`      // since the machine started
	Full      uint64    `json:"packets_dropped_full"`  // of them, as that queue was full
	CopyGB    float64   `json:"copy_gb_per_s"`         // 0: not measured
	Pinned    string    `json:"pinned_cpus,omitempty"` // of the servers to come
	Adapters  []Adapter `json:"adapters"`              // in order of their roles
}

// An Adapter is one end of a cable, and how the machine serves it.
type Adapter struct {
	// Role is what it is compared by: "data" for the first address chosen, else its name.
	Role     string  `json:"role"`
	Name     string  `json:"name"`
	Rate     string  `json:"rate"` // "200 Gb/sec (4X HDR)", "100 Gbit/s"
	RateMbit int     `json:"rate_mbit"`
	MTU      int     `json:"mtu"`
	Driver   string  `json:"driver"`
	Firmware string  `json:"firmware"`
	Near     string  `json:"near_cpus"`       // processors of its NUMA node
	Speed    float64 `json:"slot_gt_per_s"`   // of a lane
	Width    int     `json:"slot_lanes"`      // in use
	Most     int     `json:"slot_lanes_most"` // that the adapter could use
	// Interrupts are those that it has, Served the processors that take them.
	Interrupts int   `json:"interrupts"`
	Served     []int `json:"interrupt_cpus"`
}

// Read reads what this machine says: f with what it has told already, root its files, firmware the version in an
// adapter by its name, pinned the processors of servers, addresses the chosen ones (none: all adapters that are up).
func Read(f host.Facts, root fs.FS, firmware func(string) string, pinned string, addresses []string) Node {
	n := Node{
		CPU: f.CPU, Cores: f.Cores, Kernel: f.Kernel, Governor: f.Governor, Pinned: pinned,
		HugePages: chosen(text(root, "sys/kernel/mm/transparent_hugepage/enabled")),
		Backlog:   number(text(root, "proc/sys/net/core/netdev_max_backlog")),
	}
	for line := range strings.Lines(text(root, "proc/meminfo")) {
		switch w := strings.Fields(line); {
		case len(w) > 1 && w[0] == "MemTotal:":
			n.MemoryMiB = number(w[1]) >> 10
		case len(w) > 1 && w[0] == "HugePages_Total:":
			n.HugeCount = number(w[1])
		}
	}
	for line := range strings.Lines(text(root, "proc/net/softnet_stat")) {
		if w := strings.Fields(line); len(w) > 1 {
			n.Received, n.Full = n.Received+hex(w[0]), n.Full+hex(w[1])
		}
	}
	verbs := verbsDevices(root)
	for _, x := range addresses {
		a, err := netip.ParseAddr(x)
		if i := f.Of(a); err == nil && i.Name != "" {
			role := "data"
			if len(n.Adapters) > 0 {
				role += strconv.Itoa(len(n.Adapters) + 1)
			}
			n.Adapters = append(n.Adapters, adapter(root, i, role, verbs[i.Name], firmware))
		}
	}
	if len(addresses) > 0 {
		return n
	}
	for _, i := range f.Interfaces {
		if i.Up && i.NIC != "" {
			n.Adapters = append(n.Adapters, adapter(root, i, i.Name, verbs[i.Name], firmware))
		}
	}
	return n
}

// adapter reads an interface and its device for verbs, "" without one.
func adapter(root fs.FS, i host.Interface, role, verbs string, firmware func(string) string) Adapter {
	driver, _, _ := strings.Cut(i.NIC, ",")
	device := path.Join("sys/class/net", i.Name, "device")
	a := Adapter{
		Role: role, Name: i.Name, RateMbit: i.SpeedMbit, MTU: i.MTU, Driver: driver, Near: i.CPUs,
		Speed: decimal(text(root, path.Join(device, "current_link_speed"))), Width: lanes(text(root, path.Join(device, "current_link_width"))),
		Most: lanes(text(root, path.Join(device, "max_link_width"))),
	}
	if a.RateMbit > 0 {
		a.Rate = fmt.Sprintf("%g Gbit/s", float64(a.RateMbit)/1000)
	}
	if firmware != nil {
		a.Firmware = firmware(i.Name)
	}
	if verbs != "" {
		dir := path.Join("sys/class/infiniband", verbs)
		if v := text(root, path.Join(dir, "fw_ver")); v != "" {
			a.Firmware = v
		}
		if rate := text(root, path.Join(dir, "ports/1/rate")); rate != "" && a.RateMbit == 0 {
			a.Rate, a.RateMbit = rate, int(1000*decimal(rate))
		}
	}
	own, _ := fs.ReadDir(root, path.Join(device, "msi_irqs")) // none for a virtual adapter
	for _, irq := range own {
		dir := path.Join("proc/irq", irq.Name())
		on := text(root, path.Join(dir, "effective_affinity_list"))
		if on == "" {
			on = text(root, path.Join(dir, "smp_affinity_list"))
		}
		if on != "" {
			a.Interrupts++
			a.Served = append(a.Served, cpus(on)...)
		}
	}
	slices.Sort(a.Served)
	a.Served = slices.Compact(a.Served)
	return a
}

// verbsDevices are the devices of verbs by the interface of the same adapter.
func verbsDevices(root fs.FS) map[string]string {
	out := map[string]string{}
	devices, _ := fs.ReadDir(root, "sys/class/infiniband")
	for _, d := range devices {
		of, _ := fs.ReadDir(root, path.Join("sys/class/infiniband", d.Name(), "device/net"))
		for _, i := range of {
			out[i.Name()] = d.Name()
		}
	}
	return out
}

// cpus are the processors of a list such as 0-15,32; none where it is no such list.
func cpus(list string) (out []int) {
	all, err := hostlist.Expand("[" + list + "]")
	if err != nil {
		return nil
	}
	return lists.Map(all, number)
}

// text returns a file without surrounding space; "" if it cannot be read.
func text(root fs.FS, file string) string {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// chosen is the word in brackets of a file that lists what could be chosen.
func chosen(s string) string {
	_, s, _ = strings.Cut(s, "[")
	s, _, _ = strings.Cut(s, "]")
	return s
}

// lanes is a number of lanes; the kernel's unknown is 255.
func lanes(s string) int {
	const unknown = 255
	if n := number(s); n != unknown {
		return n
	}
	return 0
}

// number is the integer that a text is, 0 if it is none or negative: the kernel's unknown is -1.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// decimal is the number that a text begins with.
func decimal(s string) float64 {
	first, _, _ := strings.Cut(s, " ")
	x, err := strconv.ParseFloat(first, 64)
	if err != nil || x < 0 {
		return 0
	}
	return x
}

func hex(s string) uint64 {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0
	}
	return n
}
