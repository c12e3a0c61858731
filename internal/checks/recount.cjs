// Loaded by every node of a second run: has the runner of tests that it is write down which ran.
// recount.sh puts it there.
'use strict';
const fs = require('fs');
const path = require('path');

const folder = process.env.RALPH_RECOUNT;
const args = process.argv;
const given = (...flags) => args.some((a) => flags.some((f) => a === f || a.startsWith(f + '=')));
const said = (n) => fs.appendFileSync(path.join(folder, 'counted'), `Ran ${n} tests in 0s\n`);
const read = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');

// atExit counts by a report that is there when the process ends.
function atExit(report, count) {
  process.on('exit', () => said(count(read(report))));
}

const passed = (json) => Number(/"numPassedTests": ?(\d+)/.exec(json)?.[1] ?? 0);

function nodeTest() {
  const own = [];
  for (let i = 0; i < process.execArgv.length; i++) {
    const a = process.execArgv[i];
    if (a === '--test-reporter' || a === '--test-reporter-destination') i++;
    else if (!a.startsWith('--test-reporter')) own.push(a);
  }
  const report = path.join(folder, `node-${process.pid}`);
  const run = require('child_process').spawnSync(process.execPath,
    [...own, '--test-reporter=junit', `--test-reporter-destination=${report}`, ...args.slice(1)],
    { stdio: 'inherit', env: { ...process.env, RALPH_RECOUNT: '' } });
  const xml = read(report);
  const some = (re) => (xml.match(re) || []).length;
  // With a pattern a file without a test of that name passes as one test.
  const byName = own.some((a) => a.startsWith('--test-name-pattern'));
  const files = byName ? some(/<testcase name="\S*\/\S+\.[cm]?[jt]s" /g) : 0;
  said(Math.max(0, some(/<testcase /g) - some(/<skipped[\s/>]/g) - files));
  process.exit(run.status === null ? 1 : run.status);
}

function main() {
  if (given('--version', '-v', '--help', '-h', '--listTests', '--showConfig', '--clearCache', '--dry-run')) return;
  const name = path.basename(args[1] || '').replace(/\.[cm]?js$/, '');
  const report = path.join(folder, `${name}-${process.pid}`);
  if (process.execArgv.includes('--test')) {
    if (!process.env.NODE_TEST_CONTEXT) nodeTest();
  } else if (name === 'jest' && !given('--outputFile')) {
    args.splice(2, 0, '--json', `--outputFile=${report}`);
    atExit(report, passed);
  } else if (name === 'vitest' && !given('--outputFile') && !args.includes('list')) {
    args.splice(2, 0, '--reporter=json', `--outputFile=${report}`);
    atExit(report, passed);
  } else if ((name === 'mocha' || name === '_mocha') && !args.includes(__filename)) {
    args.splice(2, 0, '--require', __filename);
    said(0);
  }
}

if (folder && require('worker_threads').isMainThread) main();

// Mocha loads this file once more, for its root hooks.
exports.mochaHooks = {
  afterEach() {
    if (this.currentTest.state === 'passed') said(1);
  },
};
