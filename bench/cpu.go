package bench

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// A cpuClock is the time all processors together have been busy, and that has
// passed, since the machine started. The zero value: not known.
type cpuClock struct{ busy, total float64 }

// readCPU reads the kernel's count; elsewhere than on Linux it is not known.
func readCPU() cpuClock {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return cpuClock{}
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return cpuClock{}
	}
	return parseCPU(line)
}

// parseCPU reads the line "cpu user nice system idle iowait irq softirq steal
// guest guest_nice". Guest time is part of user and nice.
func parseCPU(line string) cpuClock {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return cpuClock{}
	}
	var c cpuClock
	for i, s := range f[1:9] {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return cpuClock{}
		}
		c.total += v
		if i != 3 && i != 4 { // idle, iowait
			c.busy += v
		}
	}
	return c
}

// since returns the share of all processors that was busy, 0..1; 0 where that
// is not known.
func (c cpuClock) since(start cpuClock) float64 {
	if c.total <= start.total || start.total == 0 {
		return 0
	}
	return (c.busy - start.busy) / (c.total - start.total)
}
