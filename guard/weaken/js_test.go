package weaken

import "testing"

const jsTwo = `import { describe, it, expect } from "vitest";
import { add, div } from "../src/calc";

describe("calc", () => {
  it("adds", () => {
    expect(add(1, 2)).toBe(3);
    expect(add(-1, 1)).toBe(0);
  });

  it("refuses zero", async () => {
    await expect(div(1, 0)).rejects.toThrow(/zero/);
  });
});
`

const jsEach = `describe("calc", () => {
  test.each([
    [1, 2, 3],
    [0, 0, 0],
    [-1, 1, 0],
  ])("adds %d and %d", (a, b, want) => {
    expect(add(a, b)).toBe(want);
  });
});
`

const jsNode = `const test = require("node:test");
const assert = require("node:assert");
const { add } = require("./calc");

test("adds", () => {
  assert.strictEqual(add(1, 2), 3);
});

test("zero", (t) => {
  assert.strictEqual(add(0, 0), 0);
});
`

func TestJSWeakened(t *testing.T) {
	p := "test/calc.test.ts"
	check(t, []row{
		{why: "js: a test is deleted", path: p, before: jsTwo, after: cut(jsTwo, `  it("refuses`, "});\n"),
			want: is(Removed)},
		{why: "js: the file is deleted", path: p, before: jsTwo, after: "-", want: is(Removed)},
		edit("js: it.skip", p, jsTwo, `it("refuses`, `it.skip("refuses`, Skipped),
		edit("js: xit", p, jsTwo, `it("refuses`, `xit("refuses`, Skipped),
		edit("js: it.todo", p, jsTwo,
			"it(\"refuses zero\", async () => {\n    await expect(div(1, 0)).rejects.toThrow(/zero/);\n  });",
			`it.todo("refuses zero");`, Skipped, Assertions),
		edit("js: it.fails", p, jsTwo, `it("refuses`, `it.fails("refuses`, Skipped),
		edit("js: it.skipIf", p, jsTwo, `it("refuses`, `it.skipIf(true)("refuses`, Skipped),
		edit("js: describe.skip", p, jsTwo, `describe("calc`, `describe.skip("calc`, Skipped),
		edit("js: xdescribe", p, jsTwo, `describe("calc`, `xdescribe("calc`, Skipped),
		edit("js: it.only", p, jsTwo, `it("adds`, `it.only("adds`, Skipped),
		{why: "js: only in a new test", path: p, before: jsTwo,
			after: jsTwo + "it.only(\"x\", () => { expect(one()).toBe(1); });\n", want: is(Skipped)},
		edit("js: fdescribe", p, jsTwo, `describe("calc`, `fdescribe("calc`, Skipped),
		edit("js: an option that skips", "calc.test.js", jsNode, `test("zero", (t) =>`, `test("zero", { skip: true }, (t) =>`,
			Skipped),
		edit("js: t.skip()", "calc.test.js", jsNode, "(t) => {", "(t) => {\n  t.skip();", Skipped),
		edit("js: this.skip()", p, jsTwo, "async () => {", "async function () {\n    this.skip();", Skipped),
		{why: "js: a renamed import that skips", path: p, before: jsTwo,
			after: replace(replace(jsTwo, "describe, it, expect", "describe, it, it as check, expect"), `it("refuses`,
				`check.skip("refuses`), want: is(Skipped)},
		edit("js: an expectation goes", p, jsTwo, "    expect(add(-1, 1)).toBe(0);\n", "", Assertions),
		edit("js: expect without a matcher", p, jsTwo, "expect(add(-1, 1)).toBe(0);", "expect(add(-1, 1));", Assertions),
		edit("js: expect(true).toBe(true)", p, jsTwo, "expect(add(-1, 1)).toBe(0)", "expect(true).toBe(true)", Assertions),
		edit("js: expect(x).toBe(x)", p, jsTwo, "expect(add(-1, 1)).toBe(0)", "expect(add(-1, 1)).toBe(add(-1, 1))",
			Assertions),
		edit("js: commented out", p, jsTwo, "    expect(add(-1, 1)).toBe(0);", "    /* expect(add(-1, 1)).toBe(0); */",
			Assertions),
		edit("js: in a template", p, jsTwo, "expect(add(-1, 1)).toBe(0);", "const s = `expect(add(-1, 1)).toBe(0);`;",
			Assertions),
		edit("js: a return first", p, jsTwo, "    expect(add(1, 2)).toBe(3);", "    return;\n    expect(add(1, 2)).toBe(3);",
			Assertions),
		edit("js: if (false)", p, jsTwo, "expect(add(-1, 1)).toBe(0);", "if (false) { expect(add(-1, 1)).toBe(0); }",
			Assertions),
		edit("js: swallowed by catch", p, jsTwo, "expect(add(-1, 1)).toBe(0);",
			"try { expect(add(-1, 1)).toBe(0); } catch {}", Assertions),
		edit("js: a handler that only logs the error", p, jsTwo, "expect(add(-1, 1)).toBe(0);",
			"try { expect(add(-1, 1)).toBe(0); } catch (err) { console.log(err); }", Assertions),
		edit("js: rows of each go", p, jsEach, "    [-1, 1, 0],\n", "", Cases),
		{why: "js: the file leaves the pattern", path: "src/calc.test.ts", before: jsTwo, after: "-",
			more: []File{file("src/calc.ts.disabled", "-", jsTwo)}, want: is(Removed)},
		{why: "js: expect is redefined", path: p, before: jsTwo,
			after: "const expect = () => ({ toBe() {}, rejects: { toThrow() {} } });\n" + jsTwo, want: is(Escape)},
		{why: "js: process.exit in a test file", path: "calc.test.js", before: jsNode, after: jsNode + "process.exit(0);\n",
			want: is(Escape)},
		edit("js: node:test assertion goes", "calc.test.js", jsNode, "  assert.strictEqual(add(0, 0), 0);\n", "", Assertions),
		{why: "js: a script of assertions shrinks", path: "test/run.js",
			before: "const assert = require('assert');\nassert.equal(add(1, 2), 3);\nassert.equal(add(0, 0), 0);\n",
			after:  "const assert = require('assert');\nassert.equal(add(1, 2), 3);\n", want: is(Assertions)},
		{why: "js: a snapshot entry goes", path: "__snapshots__/a.test.js.snap",
			before: "// Jest Snapshot v1\n\nexports[`a 1`] = `1`;\n\nexports[`b 1`] = `2`;\n",
			after:  "// Jest Snapshot v1\n\nexports[`a 1`] = `1`;\n", want: is(Assertions)},
		{why: "js: a helper is emptied", path: "test/helpers.js",
			before: "export function expectUser(u) {\n  expect(u.name).toBe('a');\n  expect(u.mail).toBe('b');\n}\n",
			after:  "export function expectUser(u) {\n}\n", want: is(Assertions)},
	})
}

func TestJSHonest(t *testing.T) {
	p := "test/calc.test.ts"
	check(t, []row{
		edit("js: a new test", p, jsTwo, `  it("refuses`,
			"  it(\"keeps zero\", () => {\n    expect(add(0, 0)).toBe(0);\n  });\n\n  it(\"refuses"),
		{why: "js: a new test that is skipped", path: p, before: jsTwo,
			after: jsTwo + "it.skip(\"later\", () => { expect(later()).toBe(1); });\n"},
		edit("js: renamed", p, jsTwo, `"refuses zero"`, `"throws on a zero divisor"`),
		{why: "js: moved and renamed", path: p, before: jsTwo, after: "-",
			more: []File{file("src/__tests__/arith.spec.tsx", "-", jsTwo)}},
		edit("js: describe is renamed", p, jsTwo, `describe("calc"`, `describe("arithmetic"`),
		edit("js: it becomes test", p, jsTwo, "  it(", "  test("),
		edit("js: expectations become rows", p, jsTwo,
			"  it(\"adds\", () => {\n    expect(add(1, 2)).toBe(3);\n    expect(add(-1, 1)).toBe(0);\n"+"  });",
			"  it.each([\n    [1, 2, 3],\n    [-1, 1, 0],\n  ])(\"adds\", (a, b, want) => {\n"+
				"    expect(add(a, b)).toBe(want);\n  });"),
		{why: "js: rows get a name", path: p, before: jsEach,
			after: "const rows = [\n  [1, 2, 3],\n  [0, 0, 0],\n  [-1, 1, 0],\n];\n" +
				replace(jsEach, "[\n    [1, 2, 3],\n    [0, 0, 0],\n    [-1, 1, 0],\n  ]", "rows")},
		edit("js: a test is split", p, jsTwo, "    expect(add(-1, 1)).toBe(0);\n  });",
			"  });\n\n  it(\"adds negative numbers\", () => {\n    expect(add(-1, 1)).toBe(0);\n  });"),
		{why: "js: promises are returned", path: p, before: jsTwo,
			after: replace(replace(jsTwo, "async () => {\n    await expect", "() => {\n    return expect"), "describe, it,",
				"it, describe,")},
		edit("js: a regular expression with a quote", p, jsTwo, "/zero/", "/it's \"zero\"/"),
		edit("js: a division is no regular expression", p, jsTwo, "add(1, 2)", "add(4 / 4, 4 / 2)"),
		{why: "js: text in JSX", path: "src/App.test.tsx",
			before: "it(\"shows\", () => {\n  render(<p>Don't</p>);\n  expect(screen.getByText(\"x\")).toBeVisible();\n});\n",
			after: "it(\"shows\", () => {\n  render(<p>Don't panic</p>);\n" +
				"  expect(screen.getByText(\"x\")).toBeVisible();\n});\n"},
		edit("js: a pattern's test method", p, jsTwo, "expect(add(1, 2)).toBe(3);",
			"expect(/3/.test(String(add(1, 2)))).toBe(true);"),
		{why: "js: a snapshot is re-recorded", path: "__snapshots__/a.test.js.snap", before: "exports[`a 1`] = `1`;\n",
			after: "exports[`a 1`] = `2`;\n"},
		{why: "js: a helper in the file", path: p, before: jsTwo,
			after: replace(replace(jsTwo, "describe(\"calc\"",
				"function expectSum(a, b, want) {\n  expect(add(a, b)).toBe(want);\n}\n\ndescribe(\"calc\""),
				"    expect(add(1, 2)).toBe(3);\n    expect(add(-1, 1)).toBe(0);\n",
				"    expectSum(1, 2, 3);\n    expectSum(-1, 1, 0);\n")},
		{why: "js: CommonJS becomes a module", path: "calc.test.js", before: jsNode,
			after: replace(replace(replace(jsNode, `const test = require("node:test");`, `import test from "node:test";`),
				`const assert = require("node:assert");`, `import assert from "node:assert";`),
				`const { add } = require("./calc");`, `import { add } from "./calc.js";`)},
		edit("js: a handler that passes the error on", p, jsTwo, "    expect(add(-1, 1)).toBe(0);\n",
			"    run((cb) => {\n      try {\n        expect(add(-1, 1)).toBe(0);\n      } catch (err) {\n        cb(err);\n"+
				"      }\n    });\n"),
		edit("js: a query that skips rows", p, jsTwo, "add(1, 2)", "add(rows.skip(1).length, 2)"),
		{why: "js: only goes", path: p, before: replace(jsTwo, `it("adds`, `it.only("adds`), after: jsTwo},
		{why: "js: comments that mention skip", path: p, before: jsTwo, after: "// it.skip, describe.only\n" + jsTwo},
	})
}

// TestJSUnderConditions: a condition that only has another form, or concerns another system, is not a new
// condition. A file that a test reads is not a test. A require is not an assertion.
func TestJSUnderConditions(t *testing.T) {
	body := "async () => {\n  expect(await load('a')).toBe('x');\n  expect(await load('b')).toBe('y');\n}"
	plain := "test('loads', " + body + ");\n"
	within := "if (!isBuild) {\n  test('loads', " + body + ");\n}\n"
	run := func(when string) string { return "test." + when + "('loads', " + body + ");\n" }
	reads := "const f = require('./f');\ntest('adds', () => {\n  const g = require('../g');\n" +
		"  expect(f(g)).toBe(1);\n});\n"
	focused := "describe.only('x', () => { it.only('y', () => { expect(1 + z).toBe(2); }); });\n"
	check(t, []row{
		{why: "another form of a condition", path: "a.test.js", before: within, after: run("runIf(isServe)")},
		{why: "a condition that is new", path: "a.test.js", before: plain, after: run("runIf(isServe)"), want: is(Skipped)},
		{why: "a condition that never holds", path: "a.test.js", before: within, after: run("runIf(false)"),
			want: is(Skipped)},
		{why: "a condition that always holds", path: "a.test.js", before: plain, after: run("skipIf(1 === 1)"),
			want: is(Skipped)},
		edit("a require less", "a.test.js", reads, "  const g = require('../g');\n  expect(f(g))", "  expect(f(2))"),
		{why: "a hook of Playwright", path: "e.spec.ts", before: "test.afterAll(async () => app.close());\n" + plain,
			after: plain},
		edit("an assertion that waits", "a.test.js", plain, "expect(await load('a'))", "await expectAsync(load('a'))"),
		{why: "what a test reads", path: "tests/only/only.js", before: "-", after: focused,
			paths: []string{"tests/only/format.spec.js"}},
		{why: "a test beside tests", path: "tests/only/only.js", before: "-", after: focused,
			paths: []string{"tests/only/format.js"}, want: is(Skipped)},
		{why: "a new test that is focused", path: "tests/only/only.spec.js", before: "-", after: focused,
			paths: []string{"tests/only/format.spec.js"}, want: is(Skipped)},
	})
	for _, c := range []struct {
		why, path, before, after string
		code                     []File
	}{
		{"a condition about another system", "a.test.js", plain, run("skipIf(hasWindowsBug)"), nil},
		{"a snapshot goes beside changed code", "__snapshots__/a.test.js.snap", "\nexports[`a 1`] = `1`;\n", "\n",
			[]File{file("a.js", "x = 1\n", "x = 2\n")}},
		{"a text of the code goes, and what expects it", "a.test.js",
			plain + "test('paints', () => {\n  expect(blue('foo')).toBe('\\u001B[94mfoo\\u001B[39m');\n});\n", plain,
			[]File{file("a.js", "blue.open = '\\u001B[94m';\n", "n = 2\n")}},
	} {
		rep := Judge(Input{Files: append(c.code, file(c.path, c.before, c.after))})
		if len(rep.Findings) > 0 || len(rep.Open) == 0 {
			t.Errorf("%s: findings %v, open %v", c.why, rep.Findings, rep.Open)
		}
	}
}
