//go:build !linux

package host

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// loadNow returns a reading that tells the time alone.
func loadNow() reading {
	r := reading{at: time.Now(), cores: runtime.NumCPU()}
	r.host, _ = os.Hostname()
	return r
}

// Pin keeps this process on the processors of a list such as "0-15,32"; here it
// cannot.
func Pin(cpus string) error {
	if _, err := parseCPUs(cpus); err != nil {
		return err
	}
	return errors.New("this system cannot pin a process to processors: that needs Linux")
}
