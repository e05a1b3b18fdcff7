package sweep

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// NewHeader describes the sweep of a command: it compares arguments without those about the
// destination of results, and the files that they name by their sum.
func NewHeader(version string, args []string, s Shard) (h Header, err error) {
	h.Version, h.Args = version, without(args, "--shard", "--journal", "--quiet", "--out", "--o")
	h.Shard = Shard{I: max(1, s.I), N: max(1, s.N)}.String()
	h.Inputs, err = sumOf(h.Args)
	return h, err
}

// without removes flags, with their values, from arguments.
func without(args []string, flags ...string) (out []string) {
	for i := 0; i < len(args); i++ {
		name, _, has := strings.Cut("-"+strings.TrimLeft(args[i], "-"), "=")
		switch {
		case !strings.HasPrefix(args[i], "-") || !slices.Contains(flags, "-"+name):
			out = append(out, args[i])
		case !has && name != "-quiet":
			i++
		}
	}
	return out
}

// sumOf returns the sum of all files named by arguments, to tell shards on other machines, or after
// a change, from those of this sweep.
func sumOf(args []string) (string, error) {
	h := sha256.New()
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, name := range []string{arg, value} {
			info, err := os.Stat(name)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			f, err := os.Open(name)
			if err != nil {
				return "", err
			}
			n, err := io.Copy(h, f)
			if err = errors.Join(err, f.Close()); err != nil {
				return "", err
			}
			fmt.Fprintf(h, "\n%d\n", n)
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}
