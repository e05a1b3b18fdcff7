package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// hashed begin the header lines that the hash of a plan covers; the body is all
// that is not a header line.
var hashed = [][]byte{[]byte("# topology "), []byte("# fill "), []byte("# spines "), []byte("# down ")}

// hash returns the hash of a plan in text form as its writer computed it, over
// the fabric lines and the body, whatever the header says of itself. A changed
// schedule name, routing or bound does not change it.
func hash(text []byte) string {
	h := sha256.New()
	for line := range bytes.Lines(text) {
		if covers(line) {
			h.Write(line)
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func covers(line []byte) bool {
	if line[0] != '#' {
		return true
	}
	for _, prefix := range hashed {
		if bytes.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
