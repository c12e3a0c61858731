package dashboard

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "pack the files of the page anew")

// scripts are the parts of the page's script, in order.
var scripts = []string{"core.js", "charts.js", "tasks.js", "timeline.js", "detail.js", "panels.js", "main.js"}

// assembled is the page as one document, made of its files.
func assembled(t *testing.T) []byte {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("page", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	script := []byte("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		script = append(script, read(name)...)
	}
	html := bytes.Replace(read("index.html"), []byte("/*style*/"), read("style.css"), 1)
	return bytes.Replace(html, []byte("/*script*/"), append(script, "})();\n"...), 1)
}

// TestPageIsPacked: the page of the program is that of its files, all of which are in it.
func TestPageIsPacked(t *testing.T) {
	want := assembled(t)
	if *update {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(want) // into memory
		z.Close()
		if err := os.WriteFile("page.html.gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		packed = b.Bytes()
	}
	if !bytes.Equal(whole(), want) {
		t.Error("page.html.gz is not what the files in page make: go test ./internal/dashboard -update")
	}
	for _, name := range []string{"script", "style"} {
		if content := element(want, name); len(content) < 1000 || bytes.Count(want, []byte("<"+name+">")) != 1 {
			t.Errorf("there is not one %s", name)
		}
	}
	list, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(scripts)+2 {
		t.Errorf("%d files, %d are known", len(list), len(scripts)+2)
	}
}
