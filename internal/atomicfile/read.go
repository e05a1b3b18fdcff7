package atomicfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns what a file holds. More than most bytes are an error, so that a
// device or a pipe without an end takes no more memory than that.
func Read(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(Bound(f, most))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// MaxList bounds what is read of a list with a name or two on a line: LIDs, roots, jobs,
// cables, hosts.
const MaxList = 64 << 20

// Bound returns a reader of r that fails behind the first most bytes.
func Bound(r io.Reader, most int64) io.Reader { return &bound{r, most, most} }

type bound struct {
	r          io.Reader
	most, left int64
}

func (b *bound) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), fmt.Errorf("more than %d bytes", b.most)
	}
	b.left -= int64(n)
	return n, err
}
