package host

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPU is the highest number of a processor that can be asked for.
const maxCPU = 1023

// ParseCPUs reads a list of processors as taskset writes it, "0-15,32", and
// returns them rising, each once.
func ParseCPUs(list string) ([]int, error) {
	var wanted [maxCPU + 1]bool
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err := cpu(from)
		if err != nil {
			return nil, fmt.Errorf("%.60q: %w", list, err)
		}
		b, err := cpu(to)
		if err != nil {
			return nil, fmt.Errorf("%.60q: %w", list, err)
		}
		if b < a {
			return nil, fmt.Errorf("%.60q: the range %s ends before it begins", list, part)
		}
		for n := a; n <= b; n++ {
			wanted[n] = true
		}
	}
	var out []int
	for n, is := range wanted {
		if is {
			out = append(out, n)
		}
	}
	return out, nil
}

func cpu(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not the number of a processor; write a list such as 0-15,32", s)
	}
	if n > maxCPU {
		return 0, fmt.Errorf("processor %d: the highest is %d", n, maxCPU)
	}
	return int(n), nil
}
