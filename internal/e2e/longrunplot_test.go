package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// report is a page of doc/ about a long run, and its picture.
type report struct {
	name string // of both files
	head string // what was run, in a paragraph or two
	foot string
}

// write makes the page and its picture from the samples of a run.
func (r report) write(t *testing.T, p *project, list []sample) {
	t.Helper()
	iterations := list[len(list)-1].iterations
	took := make([]float64, len(list)) // milliseconds an iteration, since the sample before
	for i := 1; i < len(list); i++ {
		if n := list[i].iterations - list[i-1].iterations; n > 0 {
			took[i] = 1000 * (list[i].seconds - list[i-1].seconds) / float64(n)
		}
	}
	took[0] = took[1]
	last := 0
	for i := range list {
		if list[i].disk == 0 {
			list[i].disk = last
		}
		last = list[i].disk
	}
	series := []struct {
		name string
		of   func(i int) float64
	}{
		{"an iteration, ms", func(i int) float64 { return took[i] }},
		{"living heap, KB", func(i int) float64 { return float64(list[i].heap) }},
		{"resident memory, KB", func(i int) float64 { return float64(list[i].resident) }},
		{"goroutines", func(i int) float64 { return float64(list[i].goroutines) }},
		{"open descriptors", func(i int) float64 { return float64(list[i].fds) }},
		{"child processes", func(i int) float64 { return float64(list[i].children) }},
		{"git directory, KB", func(i int) float64 { return float64(list[i].disk) }},
	}
	var table, picture strings.Builder
	const wide, high, gap = 640, 90, 30
	for row, s := range series {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = s.of(i)
		}
		part := func(from, to int) float64 {
			v := slices.Clone(values[from*len(values)/10 : to*len(values)/10])
			slices.Sort(v)
			return v[len(v)/2]
		}
		fmt.Fprintf(&table, "| %s | %.0f | %.0f | %.0f | %.0f |\n", s.name, part(0, 1), part(4, 5), part(9, 10),
			slices.Max(values))
		top := row*(high+gap) + gap
		most := max(slices.Max(values), 1)
		fmt.Fprintf(&picture, "<text x=\"60\" y=\"%d\">%s</text>\n<text x=\"55\" y=\"%d\" text-anchor=\"end\">%.0f</text>\n"+
			"<text x=\"55\" y=\"%d\" text-anchor=\"end\">0</text>\n<path class=\"axis\" d=\"M60 %dv%dh%d\"/>\n"+
			"<polyline points=\"",
			top-6, s.name, top+10, most, top+high, top, high, wide)
		for i, v := range values {
			fmt.Fprintf(&picture, "%.1f,%.1f ", 60+wide*float64(list[i].iterations)/float64(iterations),
				float64(top)+high*(1-v/most))
		}
		picture.WriteString("\"/>\n")
	}
	svg := fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "+
		"font-size=\"12\">\n<style>text{fill:#57606a}.axis{fill:none;stroke:#8c959f}polyline{fill:none;stroke:#0969da;"+
		"stroke-width:1.5}</style>\n%s<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d iterations</text>\n</svg>\n",
		wide+90, len(series)*(high+gap)+gap+12, picture.String(), wide+60, len(series)*(high+gap)+gap+6, iterations)
	kept := len(strings.Fields(p.Git("log", "--format=%h", "--grep=^Ralph-Task: ")))
	where, _ := exec.Command("stat", "-f", "-c", "%T", p.Dir).Output()
	load, _ := os.ReadFile("/proc/loadavg")
	words := strings.Fields(string(load) + " ? ?")
	text := fmt.Sprintf(reportText, r.head, iterations, list[len(list)-1].seconds/60, kept,
		time.Now().UTC().Format("2 January 2006"), runtime.NumCPU(), runtime.Version(),
		strings.TrimPrefix(p.Git("--version"), "git version "),
		strings.TrimSpace(string(where)), words[2],
		table.String(), r.name, r.foot)
	for name, data := range map[string]string{r.name + ".md": text, r.name + ".svg": svg} {
		if err := os.WriteFile(filepath.Join("..", "..", "doc", name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const reportText = `%s

The run had %d iterations in %.0f minutes and kept %d commits. %s, %d processors, %s, git %s, repository on %s, load average
at the end %s. Each column but the last is the median of a tenth of the samples: the first, the fifth and the last tenth.

| figure | at the beginning | in the middle | at the end | most |
|---|---|---|---|---|
%s
Living heap is measured after a collection. Child processes are those at the start of an agent: git's two that stay for the
run, and the agent's. The time of an iteration includes the effect of everything else the machine did.

![the same figures over the run](%s.svg)

%s
`
