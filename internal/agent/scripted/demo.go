package scripted

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed demo.toml
var demoScript []byte

// The embedded folder is data; it cannot be changed at run time.
//
//go:embed demo
var demoFiles embed.FS

// DemoScript is the script that plays the demo.
func DemoScript() []byte { return append([]byte(nil), demoScript...) }

// DemoPlan is the plan of the demo, in our own format.
func DemoPlan() ([]byte, error) { return demoFiles.ReadFile("demo/plan.toml") }

// DemoFiles are the files of the demo's project by slash-separated path, its
// ralph.toml among them. They need nothing but a POSIX shell.
func DemoFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(demoFiles, "demo", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "demo/plan.toml" {
			return err
		}
		data, err := demoFiles.ReadFile(name)
		rel := name[len("demo/"):]
		files[path.Clean(rel)] = data
		return err
	})
	return files, err
}
