package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/browser"
	"git-ralph/fixtures/long"
)

// talker works until a file exists. Depending on its task it also asks for a
// person's review or breaks the check.
const talker = `echo "looking around for $RALPH_TASK_ID"
n=$((RALPH_ITERATION * 7 % 5))
echo '{"type":"text","text":"The tests show what is missing: I write the failing one first."}'
printf '{"type":"usage","input_tokens":%s4100,"output_tokens":2%s70,"cost_usd":0.%s7,"context_tokens":%s}\n' \
	$n $n $n $((70000 + n * 14000))
while [ ! -e "go-$RALPH_TASK_ID" ]; do sleep 0.1; done
rm -f "go-$RALPH_TASK_ID"
case $RALPH_TASK_ID-$RALPH_ATTEMPT in T-002-1) touch broken ;; esac
echo "$RALPH_TASK_ID" > "out-$RALPH_TASK_ID.txt"
needed=false
said="wrote the file and its test"
case $RALPH_TASK_ID in T-004|T-005) needed=true said="wrote <b>the</b> file" ;; esac
cat > "$RALPH_HANDOFF_FILE" <<END
{"task_completed":{"task_id":"$RALPH_TASK_ID","summary":"$said","fully_complete":true},
"summary":"$said","freeform":"The file is there now, as the task wanted; <img src=x onerror=alert(2)> stays text.",
"deviations":[],"bugs_encountered":[],"architectural_notes":[],"unfinished_business":[],"recommendations":[],
"files_touched":[],"plan_amendments":[],"tests_added":[],"constraints_discovered":[],
"request_human_review":{"needed":$needed,"reason":"is $RALPH_TASK_ID right?"}}
END
`

// pictures saves screenshots as artifacts of the test (go test -artifacts).
// Those for the documents also go to the folder in RALPH_TEST_PICTURES.
func pictures(t *testing.T, page *browser.Page, names ...string) {
	t.Helper()
	page.Eval(`document.getElementById("toasts").replaceChildren()`)
	for _, name := range names {
		for _, look := range []struct {
			suffix string
			browser.Look
		}{{"", browser.Look{Width: 1280, Height: 900}}, {"-dark", browser.Look{Width: 1280, Height: 900, Dark: true}},
			{"-narrow", browser.Look{Width: 390, Height: 844}}} {
			page.Look(look.Look)
			if page.Eval("document.documentElement.scrollWidth > innerWidth") == true {
				t.Errorf("%s%s is wider than the window", name, look.suffix)
			}
			if faults := page.Eval(pale); faults != "" {
				t.Errorf("%s%s is hard to read:\n%v", name, look.suffix, faults)
			}
			page.Shot(filepath.Join(t.ArtifactDir(), name+look.suffix+".png"))
			if dir := os.Getenv("RALPH_TEST_PICTURES"); dir != "" && name == "overview" && look.suffix == "" {
				page.Shot(filepath.Join(dir, "page.png"))
			}
		}
		page.Look(browser.Look{Width: 1280, Height: 900})
	}
}

// pale finds texts that are hard to read: contrast to the background below
// 4.5:1.
const pale = `(() => {
	const light = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255;
		return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const parse = (s) => (s.match(/[\d.]+/g) || []).map(Number);
	const out = new Set();
	for (const el of document.querySelectorAll("body *")) {
		const own = [...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
		if (!own || el.closest("svg, .cell, script, style") || !el.checkVisibility({opacityProperty: true})) continue;
		let solid = true, back = null;
		for (let e = el; e && !back; e = e.parentElement) {
			const c = getComputedStyle(e);
			if (c.opacity !== "1") solid = false;
			const bg = parse(c.backgroundColor);
			if (bg.length === 3 || bg[3] === 1) back = bg.slice(0, 3);
		}
		if (!solid || !back) continue;
		const a = light(parse(getComputedStyle(el).color).slice(0, 3)), b = light(back);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.add(el.tagName + "." + el.className + " " + ratio.toFixed(2) + ": " + el.textContent.slice(0, 30));
	}
	return [...out].join("\n");
})()`

// TestPageDrawsWhatComesTogether: two states of a run can arrive before the page is drawn
// again, the second with more in it.
func TestPageDrawsWhatComesTogether(t *testing.T) {
	t.Parallel()
	long.Only(t, "it runs a part of the page in a browser")
	code, err := os.ReadFile(filepath.Join("..", "dashboard", "page", "main.js"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, found := strings.Cut(string(code), "function changed(")
	function, _, ends := strings.Cut(function, "\nfunction ")
	if !found || !ends {
		t.Fatal("the page has no function changed")
	}
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "a task")
	page := browser.Start(t).Open(p.serve(t).url, browser.Look{Width: 400, Height: 400})
	page.Eval("(() => { let waiting = null, drawn = 0; const painters = [[() => drawn++, 'goal']], run = {state: {}}, " +
		"badge = () => {}; function changed(" + function + "\nchanged({pace: 1}); changed({pace: 1, goal: 1}); " +
		"window.after = 0; requestAnimationFrame(() => { window.drawn = drawn; window.after = 1 }) })(); 0")
	page.Until("window.after === 1")
	if n := fmt.Sprint(page.Eval("window.drawn")); n != "1" {
		t.Errorf("what came last was drawn %s times, want once", n)
	}
}

// TestPageInABrowser clicks every control in a real browser and checks that a
// real loop obeys. Whatever an agent writes stays text.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	long.Only(t, "it clicks through the page in a browser")
	b := browser.Start(t)
	p := newProject(t, talker, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go-*\n"})
	p.must(t, "add", "read the figures from a file")
	for i, title := range []string{"convert miles to kilometres", "print them as a table", "describe it in the manual",
		"say which rows were left out", "sort the rows by date", "<img src=x onerror=alert(1)>"} {
		p.must(t, "add", title, "--depends", fmt.Sprintf("T-%03d", i+1))
	}
	s := p.serve(t)
	page := b.Open(s.url, browser.Look{Width: 1280, Height: 900})
	page.Shows("#now", "No loop is running")
	if at := page.Eval("location.href"); strings.Contains(fmt.Sprint(at), "token") {
		t.Errorf("the token stays in the address: %v", at)
	}
	ended := make(chan result, 1)
	start := func() { go func() { ended <- p.run(t, nil, "start") }() }
	end := func(code int) {
		t.Helper()
		if r := <-ended; r.code != code {
			t.Fatalf("the loop ended with %d, not %d\n%s%s", r.code, code, r.out, r.err)
		}
	}
	logged := func(want string) {
		t.Helper()
		waitFor(t, want+" in the log", func() bool {
			line := p.must(t, "log", "-n", "8")
			return strings.Contains(line, want) && strings.Contains(line, "from the page")
		})
	}
	send := func() {
		t.Helper()
		page.Click("#ask button[type=submit]")
		page.Until(`!document.getElementById("ask").open`)
	}
	start()
	page.Shows("#pill", "running")
	page.Shows("#live", "looking around for T-001") // over the socket of the loop

	// A note, by the button and by the key.
	page.Click("#note")
	page.Type("use the standard library")
	send()
	logged("use the standard library")
	page.Key("n")
	page.Until(`document.activeElement.tagName === "TEXTAREA"`)
	page.Type("<b>bold</b>")
	send()
	logged("<b>bold</b>")
	page.Shows("#now details", "2 notes")

	// Pause: the loop waits after the iteration. Resume: it goes on.
	page.Click("#pause")
	page.Shows("#pill", "pausing after this iteration")
	p.Write("go-T-001", "")
	page.Shows("#pill", "paused")
	page.Shows("#recent", "T-001")
	page.Click("#resume")
	logged("operator: resume")
	page.Shows("#live", "looking around for T-002")

	// Two attempts, then a task is skipped while an agent works on it.
	p.Write("go-T-002", "")
	page.Shows("#now", "attempt 2")
	p.Write("go-T-002", "")
	page.Shows("#live", "looking around for T-003")
	page.Click("#skip")
	send()
	page.Shows("#recent", "skipped")
	end(3) // everything else waits on it

	// The task is retried, and the run is stopped after it.
	page.Key("2")
	page.Click(`[data-act="retry:T-003"]`)
	logged("retry")
	page.Click(`[data-act="skip:T-006"]`)
	page.Type("not this week")
	send()
	logged("not this week")
	pictures(t, page, "tasks")
	page.Key("1")
	start()
	page.Shows("#live", "looking around for T-003")
	page.Shows("#live", "The tests show")
	pictures(t, page, "overview")
	page.Click("#stop")
	page.Click("#stop-after")
	page.Shows("#pill", "stopping after this iteration")
	if status := p.must(t, "status"); !strings.Contains(status, "stopping after this iteration") {
		t.Errorf("status does not say what was asked for:\n%s", status)
	}
	p.Write("go-T-003", "")
	end(6)
	page.Shows("#now", "No loop is running")

	// Stop now.
	start()
	page.Shows("#live", "looking around for T-004")
	page.Click("#stop")
	page.Click("#stop-now")
	end(130)
	page.Shows("#now", "No loop is running")

	// Two tasks ask for a review: one is approved, one rejected.
	start()
	page.Shows("#live", "looking around for T-004")
	p.Write("go-T-004", "")
	end(6)
	page.Shows("#approval", "is T-004 right?")
	pictures(t, page, "approval")
	page.Click("#approve")
	logged("operator: approve")
	page.Until(`!document.getElementById("approval")`)
	start()
	page.Shows("#live", "looking around for T-005")
	p.Write("go-T-005", "")
	end(6)
	page.Click("#reject")
	page.Type("say more")
	send()
	logged("say more")

	// Settings: a wrong value is refused with the reason.
	page.Key("6")
	set := func(key, value, answer string) {
		t.Helper()
		page.Click(`[id="set-` + key + `"]`)
		page.Eval(fmt.Sprintf(`document.getElementById("set-%s").select()`, key))
		page.Type(value)
		page.Click(`[data-set="` + key + `"]`)
		page.Shows("#toasts", answer)
	}
	set("loop.max_iterations", "many", "loop.max_iterations")
	page.Faults() // the browser notes the refusal
	set("loop.max_iterations", "25", "loop.max_iterations = 25")
	logged("operator: set")
	pictures(t, page, "settings")

	// Looking: every part of the page and of an iteration, search, keys.
	page.Key("3")
	page.Key("/")
	page.Type("out-")
	page.Until(`document.querySelectorAll("#rows .iteration").length === 0`)
	page.Eval(`document.getElementById("find").select()`)
	page.Type("broken")
	page.Eval(`document.getElementById("find").select()`)
	page.Type("t-002")
	page.Until(`document.querySelectorAll("#rows .iteration").length === 2`)
	pictures(t, page, "timeline")
	page.Eval(`document.activeElement.blur()`)
	page.Key("j")
	page.Key("j")
	page.Key("Enter")
	page.Shows("#detail-title", "Iteration 2")
	for part, want := range map[string]string{"summary": "checks: test", "handoff": "stays text", "checks": "exit 1",
		"diff": "broken", "transcript": "", "prompt": "convert miles"} {
		page.Click("#part-" + part)
		page.Shows("#detail-body", want)
	}
	page.Click("#part-diff")
	page.Shows("#detail-body", "out-T-002.txt")
	pictures(t, page, "iteration")
	page.Key("ArrowLeft")
	page.Shows("#detail-title", "Iteration 1")
	page.Key("Escape")
	page.Until(`!document.getElementById("detail").open`)
	page.Key("5")
	page.Shows("#event-list", "from the page")
	pictures(t, page, "events")
	page.Key("4")
	page.Shows("#known", "nothing is known yet")
	page.Key("?")
	page.Shows("#ask", "pause or resume")
	send()
	page.Click("#theme")
	page.Until(`document.documentElement.dataset.theme === "dark"`)
	if n := page.Eval(`document.querySelectorAll("main img, main b b, dialog img").length`); n != 0.0 {
		t.Errorf("text of an agent became %v elements", n)
	}
	if faults := page.Faults(); len(faults) > 0 {
		t.Errorf("faults of the page: %v", faults)
	}
}

// TestPageAnswersQuestions: an agent's question is at the top of the page, and
// the answer clicked there reaches the agent.
func TestPageAnswersQuestions(t *testing.T) {
	t.Parallel()
	long.Only(t, "it answers questions in a browser")
	b := browser.Start(t)
	// Nobody is at the terminal, so the answer is for the next attempt.
	p := newProject(t, `if git-ralph tool ralph_ask_user '{"question":"Which <i>colour</i>?","options":["red","blue"]}' |
	grep '"answer": *"blue"'; then
`+doTask+`
else while [ ! -e go ]; do sleep 0.1; done; fi
`, "ask = true\n[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go\n"})
	p.must(t, "add", "paint it")
	s := p.serve(t)
	page := b.Open(s.url, browser.Look{Width: 1280, Height: 900})
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start") }()
	page.Shows("[data-question]", "Which <i>colour</i>?")
	pictures(t, page, "question")
	page.Click("[data-question] .row button:nth-child(2)")
	waitFor(t, "the answer in the journal", func() bool {
		return strings.Contains(p.must(t, "log", "-n", "10"), "blue")
	})
	page.Until(`!document.querySelector("[data-question]")`)
	p.Write("go", "")
	if r := <-ended; r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestExportInABrowser: the exported page, opened without a server, shows the run
// and the parts of each iteration.
func TestExportInABrowser(t *testing.T) {
	t.Parallel()
	long.Only(t, "it looks at the files in a browser")
	b := browser.Start(t)
	p := served(t)
	dir := filepath.Join(t.TempDir(), "night")
	if out := p.must(t, "serve", "--export", dir); !strings.Contains(out, "index.html") {
		t.Errorf("it says %q", out)
	}
	if r := p.run(t, nil, "serve", "--export", dir); r.code != 2 || !strings.Contains(r.err, "not empty") {
		t.Errorf("a second export: exit %d\n%s", r.code, r.err)
	}
	page := b.Open("file://"+dir+"/index.html", browser.Look{Width: 1280, Height: 900})
	page.Shows("#pill", "complete")
	page.Shows("#recent", "<script>alert(1)</script>")
	page.Key("3")
	page.Click(`#rows [data-iteration="2"]`)
	page.Shows("#detail-title", "reject")
	for _, part := range []string{"diff", "prompt", "transcript", "checks"} {
		page.Click("#part-" + part)
		page.Until(`!document.getElementById("detail-body").innerText.includes("loading")`)
	}
	page.Click("#part-diff")
	page.Shows("#detail-body", "broken")
	page.Key("Escape")
	page.Key("2")
	page.Click(`[data-task="T-002"]`)
	page.Shows("#detail", "the second thing")
	if n := page.Eval(`document.querySelectorAll("#controls button").length`); n != 0.0 {
		t.Errorf("an export has %v buttons that steer", n)
	}
}
