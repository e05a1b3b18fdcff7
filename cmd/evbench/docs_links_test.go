package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"evbench/internal/expect"
)

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	docBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	docPath    = regexp.MustCompile(`\bdocs/[a-z0-9/-]*\.(?:md|svg|png|html)\b`)
)

// Every relative link of a document leads to a file that is there, and to a heading of it.
func TestDocsLinks(t *testing.T) {
	root := os.DirFS("../..")
	for _, file := range append(documents(t), "CHANGELOG.md") {
		text := expect.Value(fs.ReadFile(root, file))(t)
		for _, m := range docLink.FindAllStringSubmatch(docBlock.ReplaceAllString(string(text), ""), -1) {
			expect.OK(t, checkLink(root, file, m[1]), "%s", file)
		}
	}
}

// checkLink follows a link of a file. Links to other sites are not followed.
func checkLink(root fs.FS, file, link string) error {
	if strings.Contains(link, "://") {
		return nil
	}
	target, anchor, _ := strings.Cut(link, "#")
	if target = path.Join(path.Dir(file), target); strings.HasPrefix(link, "#") {
		target = file
	}
	text, err := fs.ReadFile(root, target)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
		return fmt.Errorf("link %s: %s has no such heading", link, target)
	}
	return nil
}

// anchors returns the names by which the headings of a page are linked to.
func anchors(text string) (names []string) {
	for _, m := range docHeading.FindAllStringSubmatch(docBlock.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		names = append(names, name)
	}
	return names
}

func TestCheckLink(t *testing.T) {
	root := os.DirFS("testdata/links")
	for _, tt := range []struct{ link, want string }{
		{"https://example.org/#no", ""},
		{"#two-words-and-code", ""},
		{"b/other.md", ""},
		{"b/other.md#here", ""},
		{"b/other.md#not-a-heading", "link b/other.md#not-a-heading: b/other.md has no such heading"},
		{"absent.md", "link absent.md: open absent.md: no such file or directory"},
		{"#absent", "link #absent: page.md has no such heading"},
	} {
		got := ""
		if err := checkLink(root, "page.md", tt.link); err != nil {
			got = err.Error()
		}
		expect.Equal(t, got, tt.want, "%s", tt.link)
	}
}

// Pages that programs, scripts and scenarios name are there.
func TestDocsNamed(t *testing.T) {
	named := 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin"}, d.Name()):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".yaml", ".txtar", ""}, filepath.Ext(name)) || !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		for _, page := range docPath.FindAllString(string(text), -1) {
			named++
			expect.OK(t, expect.Err(os.Stat(filepath.Join("../..", page))), "%s names %s", name, page)
		}
		return err
	})
	expect.True(t, err == nil && named >= 10, "%d pages named, %v", named, err)
}
