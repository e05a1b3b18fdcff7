package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

const ext = ".yaml"

// Examples lists the names of the example scenarios, sorted.
func Examples() []string {
	names, err := fs.Glob(files, "*"+ext)
	if err != nil {
		panic(fmt.Sprintf("scenarios: a wrong pattern: %v", err))
	}
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], ext)
	}
	return names
}

// First are the examples to begin with.
var First = []string{"quickstart", "yours", "timed", "failover", "dragonfly", "sim-4x8", "ssh-example", "mpi-quickstart"}

// Example returns the text of an example. ok says whether the name exists.
func Example(name string) (text string, ok bool) {
	b, err := files.ReadFile(name + ext)
	return string(b), err == nil
}

// A Listed example has a name and says what it is.
type Listed struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// List lists examples.
func List(names []string) (all []Listed) {
	for _, name := range names {
		text, _ := Example(name)
		all = append(all, Listed{name, About(text)})
	}
	return all
}

// About returns the first sentence of the comment at the start of an example, without its full
// stop, or the part before a colon or semicolon, if that is more than a title.
func About(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		for _, w := range strings.Fields(comment) {
			words = append(words, w)
			all := strings.Join(words, " ")
			switch w[len(w)-1] {
			case '.':
				return all[:len(all)-1]
			case '?':
				return all
			case ':', ';':
				if len(words) > title {
					return all[:len(all)-1]
				}
			}
		}
	}
	return strings.Join(words, " ")
}

// title is the most words before a colon that make only a title.
const title = 5
