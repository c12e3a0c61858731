package exchange

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lossFiles are plans in the formats of other loops and tools. Every zNN is a
// unique word.
var lossFiles = []struct{ why, text string }{
	{"prd.json of stories", `{"project":"z01","branchName":"z02","description":"z03","userStories":[{"id":"US-1",` +
		`"title":"z04","description":"z05","acceptanceCriteria":["z06"],"priority":1,"passes":false,"notes":"z07"}]}`},
	{"prd.json with a nested project",
		`{"project":{"name":"z01","stack":"z02"},"tasks":[{"id":"t1","title":"z03","description":"z04"}]}`},
	{"features with steps", `[{"category":"z01","description":"z02","steps":["z03","z04"],"passes":false}]`},
	{"steps as objects", `[{"description":"z01","steps":[{"step":"z02","expected":"z03"},{"action":"z04"}],` +
		`"passes":false}]`},
	{"feature_list.json", `{"features":[{"id":"F1","name":"z01","summary":"z02","acceptance":["z03"],"test_plan":"z04",` +
		`"owner":"z05"}],"version":"z06"}`},
	{"phases of subtasks", `{"feature":"z01","workflow_type":"z02","phases":[{"id":"p1","name":"z03",` +
		`"description":"z04","subtasks":[{"id":"s1","description":"z05","service":"z06","files_to_modify":["z07"],` +
		`"files_to_create":["z08"],"patterns_from":["z09"],"verification":{"type":"command","command":"make ` +
		`z10","expected":"z11"},"status":"pending"}]}],"final_acceptance":["z12"],"summary":{"risk":"z13"}}`},
	{"a verification by a person",
		`{"phases":[{"name":"z01","subtasks":[{"id":"s1","description":"z02","verification":{"type":"manual",` +
			`"instructions":"z03","url":"z04"}}]}]}`},
	{"a verification by an address",
		`{"subtasks":[{"id":"s1","title":"z01","verification":{"type":"api","method":"z02","url":"z03",` +
			`"expected_status":200}}]}`},
	{"criteria as objects", `{"userStories":[{"id":"US-1","title":"z01","acceptanceCriteria":[{"id":"z02","text":"z03",` +
		`"testCommand":"make z04","passes":false,"note":"z05"}]}]}`},
	{"criteria given when then", `{"userStories":[{"id":"US-1","title":"z01","acceptanceCriteria":[{"given":"z02",` +
		`"when":"z03","then":"z04"}]}]}`},
	{"criteria by name", `{"tasks":[{"id":"a","title":"z01","acceptance_criteria":{"functional":["z02"],` +
		`"technical":["z03"]}}]}`},
	{"verification_command beside criteria",
		`{"tasks":[{"id":"a","title":"z01","verification_command":"make z02","acceptance":"z03","validation":"z04"}]}`},
	{"task-master", `{"master":{"tasks":[{"id":1,"title":"z01","description":"z02","details":"z03","testStrategy":"z04",` +
		`"priority":"high","dependencies":[],"status":"pending","subtasks":[{"id":1,"title":"z05","description":"z06",` +
		`"details":"z07","testStrategy":"z08","status":"pending"}],"complexityScore":7,"recommendedSubtasks":"z09"}],` +
		`"metadata":{"created":"2026-01-02T03:04:05Z","description":"z11"}}}`},
	{"task-master flat with its meta",
		`{"tasks":[{"id":1,"title":"z01","testStrategy":"z02","assignee":"z03","tags":["z04"]}],` +
			`"meta":{"projectName":"z05","source":"z06"}}`},
	{"several tags", `{"master":{"tasks":[{"id":1,"title":"z01"}],"metadata":{"description":"z02"}},` +
		`"other":{"tasks":[{"id":1,"title":"z03"}],"metadata":{"description":"z04"}}}`},
	{"issues of a host", `[{"id":99,"number":4,"title":"z01","body":"z02","state":"open","labels":[{"name":"z03"}],` +
		`"assignees":[{"login":"z04"}],"milestone":{"title":"z05"},"comments":3,"user":{"login":"z06"}}]`},
	{"issues with words of boxes", `[{"number":4,"title":"z01","body":"z02\n- [ ] z03\n- [x] z04\n","labels":["z05"]}]`},
	{"issues in lines", "{\"id\":\"bd-1\",\"title\":\"z01\",\"description\":\"z02\",\"design\":\"z03\"," +
		"\"acceptance_criteria\":\"z04\",\"notes\":\"z05\",\"issue_type\":\"z06\",\"assignee\":\"z07\"," +
		"\"labels\":[\"z08\"],\"comments\":[{\"text\":\"z09\"}]}\n"},
	{"shrimp", `{"tasks":[{"id":"a","name":"z01","description":"z02","notes":"z03","implementationGuide":"z04",` +
		`"verificationCriteria":"z05","analysisResult":"z06","relatedFiles":[{"path":"z07","type":"z08",` +
		`"description":"z09"}],"dependencies":[]}]}`},
	{"an epic of stories", `{"epics":[{"id":"E1","title":"z01","goal":"z02","stories":[{"id":"S1","title":"z03",` +
		`"as_a":"z04","i_want":"z05","so_that":"z06"}]}]}`},
	{"milestones", `{"milestones":[{"name":"z01","due":"z02","tasks":[{"id":"a","title":"z03","estimate":"z04"}]}]}`},
	{"sprints with goals", `{"sprints":[{"id":1,"goal":"z01","tasks":[{"id":"a","title":"z02","story_points":5,` +
		`"type":"z03"}]}]}`},
	{"tasks by id", `{"tasks":{"A":{"title":"z01","why":"z02"},"B":{"title":"z03","depends_on":["A"]}}}`},
	{"task and its context", `{"goal":"z01","context":"z02","constraints":["z03"],"tasks":[{"id":"a","task":"z04",` +
		`"context":"z05","files":["z06"],"risks":["z07"]}]}`},
	{"a todo list of a client", `{"todos":[{"id":"1","content":"z01","status":"in_progress","activeForm":"z02"}]}`},
	{"items", `{"items":[{"key":"K-1","summary":"z01","fields":{"reporter":"z02"},"acceptance_tests":["z03"]}]}`},
	{"a list of names alone", `{"tasks":["z01","z02"],"done":["z03"]}`},
	{"empty and null", `{"tasks":[{"id":"a","title":"z01","description":null,"criteria":[],"extra":{},"owner":"z02"}]}`},
	{"deep settings of a task", `{"tasks":[{"id":"a","title":"z01","config":{"model":"z02","env":{"NAME":"z03"}},` +
		`"hooks":["z04"]}]}`},
	{"the same key in other letters",
		`{"tasks":[{"ID":"a","Title":"z01","Description":"z02","Acceptance Criteria":["z03"],"Owner":"z04"}]}`},
	{"subtasks of subtasks", `{"tasks":[{"id":1,"title":"z01","subtasks":[{"id":1,"title":"z02","owner":"z03",` +
		`"subtasks":[{"id":1,"title":"z04","owner":"z05"}]}]}]}`},
	{"dependencies with reasons",
		`{"tasks":[{"id":"a","title":"z01"},{"id":"b","title":"z02","dependencies":[{"taskId":"a","reason":"z03"}]}]}`},
	{"a checklist", "# z01\n\nz02\n\n## z03\n\n- [ ] z04\n  z05\n  - [ ] z06\n- [x] z07 (z08)\n\nz09\n"},
	{"a checklist with numbers", "# z01\n\n1. [ ] z02\n2. [x] z03\n   - z04\n"},
	{"spec-kit", "# Tasks: z01\n\n**Input**: z02\n\n## Phase 1: z03\n\n**Purpose**: z04\n\n- [ ] T001 [P] [US1] z05 in " +
		"z06\n- [ ] T002 z07\n\n**Checkpoint**: z08\n\n## Notes\n\n- z09\n"},
	{"OpenSpec", "## 1. z01\n- [ ] 1.1 z02\n- [x] 1.2 z03\n\n## 2. z04\n- [ ] 2.1 z05\n"},
	{"kiro", "# Implementation Plan\n\n- [ ] 1. z01\n  - z02\n  - _Requirements: z03_\n- [ ] 2. z04\n- [ ] 2.1 z05\n"},
	{"sections with fields", "# z01\n\n## Task 1: z02\n**Status**: pending\n**Owner**: z03\n**Depends on**: none\n" +
		"**Verify**: `make z04`\n\nz05\n\n**Acceptance Criteria**:\n- z06\n\n**Files**: z07\n"},
	{"a table", "# z01\n\n| ID | Task | Status | Owner | Notes |\n|---|---|---|---|---|\n| A-1 | z02 | todo | z03 | z04 " +
		"|\n\nz05\n"},
	{"ticked bullets", "# z01\n- ~~z02~~ ✅\n- z03\n  z04\n\n> z05\n"},
	{"code between boxes", "- [ ] z01\n\n```sh\nz02\n```\n\n- [ ] z03\n\n    z04\n"},
	{"a front matter", "---\ntitle: z01\nowner: z02\n---\n\n- [ ] z03\n"},
	{"comments and links", "<!-- z01 -->\n- [ ] z02 [z03](http://x.example/z04)\n- [ ] **A-2**: z05 <!-- z06 -->\n"},
	{"a plan of phases with boxes",
		"# z01\n\n## Phase 1: z02 ✅\n\n- [x] z03\n\n## Phase 2: z04\n\nGoal: z05\n\n- [ ] z06\n  Acceptance: z07\n  Deps: " +
			"none\n  Priority: high\n  Owner: z08\n"},
	{"a fix plan with priorities",
		"# Fix Plan\n\n## High Priority\n- [ ] z01\n\n## Low Priority\n- [ ] z02\n\n## Completed\n- [x] z03\n\n## Notes\n- " +
			"z04\n"},
}

// TestImportNamesEveryLoss: each marked word of a file is in the plan, or its loss
// is named: by one of its keys, or in Markdown by the kind of line.
func TestImportNamesEveryLoss(t *testing.T) {
	word := regexp.MustCompile(`\bz\d\d\b`)
	if len(lossFiles) < 40 {
		t.Errorf("%d files are too few", len(lossFiles))
	}
	for _, f := range lossFiles {
		t.Run(f.why, func(t *testing.T) {
			got, err := Import("-", []byte(f.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			taken, err := json.Marshal(got.Plan)
			if err != nil {
				t.Fatal(err)
			}
			var named []string
			for _, l := range got.Lost {
				named = append(named, l.Field+": "+l.Why)
			}
			for _, w := range got.Warnings {
				named = append(named, w.Text)
			}
			places := placesOf(t, f.text)
			for _, m := range word.FindAllString(f.text, -1) {
				if !strings.Contains(string(taken), m) && !slices.ContainsFunc(places[m], func(place string) bool {
					return slices.ContainsFunc(named, func(line string) bool { return strings.Contains(line, place) })
				}) {
					t.Errorf("%s is lost, and none of %q is named: %q", m, places[m], named)
				}
			}
		})
	}
}

// placesOf returns the words that may name the loss of each marked word.
func placesOf(t *testing.T, file string) map[string][]string {
	word := regexp.MustCompile(`\bz\d\d\b`)
	places := map[string][]string{}
	if file[0] != '{' && file[0] != '[' {
		for line := range strings.Lines(file) {
			for _, m := range word.FindAllString(line, -1) {
				if places[m] = []string{"text outside the list"}; line[0] == '#' {
					places[m] = []string{"headings"}
				}
			}
		}
		return places
	}
	var walk func(v any, keys []string)
	walk = func(v any, keys []string) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(x, append(keys[:len(keys):len(keys)], k))
			}
		case []any:
			for _, x := range v {
				walk(x, keys)
			}
		case string:
			for _, m := range word.FindAllString(v, -1) {
				for i, k := range keys {
					// The name of the list of tasks says nothing about a task.
					if i >= len(keys)-2 || !slices.Contains(listKeys, strings.ToLower(k)) && !slices.Contains(groupKeys, k) {
						places[m] = append(places[m], k)
					}
				}
			}
		}
	}
	var v any
	if err := json.Unmarshal([]byte(file), &v); err != nil {
		t.Fatal(err)
	}
	walk(v, nil)
	return places
}
