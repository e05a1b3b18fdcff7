//go:build !linux

package host

import "errors"

// Pin keeps this process on the processors of a list such as "0-15,32"; here it
// cannot.
func Pin(cpus string) error {
	if _, err := ParseCPUs(cpus); err != nil {
		return err
	}
	return errors.New("this system cannot pin a process to processors: that needs Linux")
}
