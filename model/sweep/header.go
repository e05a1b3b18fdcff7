package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/internal/yamldoc"
)

// NewHeader describes the sweep of a command: it compares arguments without those about the
// destination of results, and the files that they name and the file of the program by their sums.
func NewHeader(version, program string, args []string, s Shard) (h Header, err error) {
	h.Version, h.Args = version, without(args, "--shard", "--journal", "--quiet", "--out", "--o")
	h.Shard = Shard{I: max(1, s.I), N: max(1, s.N)}.String()
	if h.Build, err = buildOf(program); err != nil {
		return h, err
	}
	h.Inputs, err = sumOf(h.Args)
	return h, err
}

// buildOf returns the sum of a program's file: every commit between two releases has the version of
// the former one.
func buildOf(program string) (string, error) {
	f, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)[:8]), err
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

// sumOf returns the sum of all files that arguments name, and that the YAML files among these name,
// to tell shards on other machines, or after a change, from those of this sweep.
func sumOf(args []string) (string, error) {
	h := sha256.New()
	add := func(name string) ([]byte, error) {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return nil, nil
		}
		text, err := os.ReadFile(name)
		h.Write(text)
		fmt.Fprintf(h, "\n%d\n", len(text))
		return text, err
	}
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, name := range []string{arg, value} {
			text, err := add(name)
			if ext := filepath.Ext(name); err == nil && (ext == ".yaml" || ext == ".yml") {
				_, root := yamldoc.Parse(name, text, maxNodes)
				err = values(root.Node, func(v string) error { _, err := add(v); return err })
			}
			if err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

const maxNodes = 100_000

// values calls f for all scalars below a node of a YAML file, which may be nil.
func values(n *yaml.Node, f func(string) error) error {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return f(n.Value)
	}
	for _, child := range n.Content {
		if err := values(child, f); err != nil {
			return err
		}
	}
	return nil
}
