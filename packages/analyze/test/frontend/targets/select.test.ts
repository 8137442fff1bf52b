import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Finding, SourceSpan } from '../../../src/finding.ts'
import { selectTargets } from '../../../src/frontend/targets/select.ts'
import { tempFolder, writeFiles } from '../../support/temp-folder.ts'

function span(file: string, line: number): SourceSpan {
  return { file, line, column: 1, endLine: line, endColumn: 2 }
}

function finding(
  file: string,
  name: string,
  check: number,
  act: number,
  conflict?: SourceSpan,
): Finding {
  return {
    fingerprint: 'f',
    rule: 'H101',
    class: 'toctou',
    level: 'warning',
    message: 'm',
    file,
    function: name,
    line: check,
    check,
    act,
    checkSpan: span(file, check),
    actSpan: span(file, act),
    ...(conflict === undefined ? {} : { conflict }),
    shared: [],
    checkpoints: [],
    trace: [],
    evidence: [],
    fixes: [],
    key: 'k',
  }
}

const lines = Array.from({ length: 40 }, (_, index) => `// ${index + 1}`).join('\n')

function sample(t: TestContext): string {
  return tempFolder(t, {
    'packages/a/package.json': '{}',
    'packages/a/src/cache.ts': `class Client { async connect() {} #reset() {} }\n${lines}`,
    'packages/a/src/other.ts': '',
    'packages/b/package.json': '{}',
    'packages/b/index.ts': '',
  })
}

test('paths are read and shown whole', async (t) => {
  const root = sample(t)
  const selection = await selectTargets(['packages/a'], { root })
  assert.deepEqual(
    selection.files.map((file) => path.relative(root, file)),
    ['packages/a/src/cache.ts', 'packages/a/src/other.ts'],
  )
  assert.ok(selection.isWhole('packages/a/src/cache.ts'))
  assert.ok(!selection.isWhole('packages/b/index.ts'))
  assert.ok(selection.isWanted(finding('packages/a/src/cache.ts', 'f', 1, 2)))
  assert.ok(!selection.isWanted(finding('packages/b/index.ts', 'f', 1, 2)))
})

test('lines are shown alone and read with their package', async (t) => {
  const root = sample(t)
  const file = 'packages/a/src/cache.ts'
  const selection = await selectTargets([`${file}:10-20`], { root })
  assert.equal(selection.files.length, 2)
  assert.ok(!selection.isWhole(file))
  assert.ok(selection.isWanted(finding(file, 'f', 5, 12)))
  assert.ok(selection.isWanted(finding(file, 'f', 8, 25)), 'the window goes over the lines')
  assert.ok(!selection.isWanted(finding(file, 'f', 21, 25)))
  const elsewhere = finding('packages/a/src/other.ts', 'f', 1, 2, span(file, 15))
  assert.ok(selection.isWanted(elsewhere), 'the other task is in the lines')
})

test('a function is shown with its inner functions', async (t) => {
  const root = sample(t)
  const file = 'packages/a/src/cache.ts'
  const selection = await selectTargets([`${file}#connect`], { root })
  assert.ok(selection.isWanted(finding(file, 'Client.connect', 1, 2)))
  assert.ok(selection.isWanted(finding(file, 'Client.connect.<callback>', 1, 2)))
  assert.ok(!selection.isWanted(finding(file, 'Client.reconnect', 1, 2)))
  const own = await selectTargets([`${file}##reset`], { root })
  assert.ok(own.isWanted(finding(file, 'Client.#reset', 1, 2)))
})

test('an unknown target is refused, with the existing ones', async (t) => {
  const root = sample(t)
  const file = 'packages/a/src/cache.ts'
  await assert.rejects(selectTargets(['packages/c'], { root }), { code: 'HDL_NO_SUCH_SOURCE' })
  await assert.rejects(selectTargets(['gone.ts:1-2'], { root }), { code: 'HDL_NO_SUCH_SOURCE' })
  await assert.rejects(selectTargets([`${file}#conect`], { root }), { message: /mean connect\?/ })
  await assert.rejects(selectTargets([`${file}:99-100`], { root }), { message: /has 41 lines/ })
  await assert.rejects(selectTargets(['packages/a/package.json:1'], { root }), {
    message: /not a source file/,
  })
})

test('standard input is a program of its own', async (t) => {
  const root = sample(t)
  const selection = await selectTargets(['-'], { root, stdin: 'let a = 1' })
  assert.deepEqual([...selection.overlays], [[path.join(root, 'snippet.ts'), 'let a = 1']])
  assert.deepEqual(selection.files, [path.join(root, 'snippet.ts')])
  assert.equal(selection.wanted, undefined, 'all of it')
  assert.ok(selection.isWanted(finding('snippet.ts', 'f', 1, 1)))
})

test('only changed parts of the targets are shown; everything is read', async (t) => {
  const root = sample(t)
  const git = (...args: readonly string[]): Buffer =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: root })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'start')
  const nothing = await selectTargets(['.'], { root, changedSince: 'HEAD' })
  assert.deepEqual(nothing.files, [])

  const file = 'packages/a/src/cache.ts'
  const text = `class Client { async connect() {} #reset() {} }\n${lines}`
  writeFiles(root, { [file]: text.replace('// 19', '// nineteen'), 'packages/a/src/new.ts': '' })
  const selection = await selectTargets(['.'], { root, changedSince: 'HEAD' })
  assert.equal(selection.files.length, 4)
  assert.deepEqual(
    selection.wanted?.map((one) => path.relative(root, one)),
    [file, 'packages/a/src/new.ts'],
  )
  assert.ok(selection.isWanted(finding(file, 'f', 18, 22)))
  assert.ok(!selection.isWanted(finding(file, 'f', 2, 9)))
  assert.ok(selection.isWanted(finding(file, 'f', 2, 9), [1, 30]), 'its function was changed')
  assert.ok(!selection.isWanted(finding('packages/a/src/other.ts', 'f', 20, 20)))
  assert.ok(selection.isWanted(finding('packages/a/src/new.ts', 'f', 1, 2)))
  assert.ok(selection.isWhole('packages/a/src/new.ts') && !selection.isWhole(file))
})
