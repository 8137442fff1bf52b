import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { errorTable } from '../../src/errors.ts'
import { files, read, root } from './tree.ts'

const page = read('docs/reference/errors.md')
const codes = Object.keys(errorTable)

test('every code is on the page, and the page has no other codes', () => {
  const headings = [...page.matchAll(/^### (HDL_\w+)$/gm)].map(([, code]) => code!)
  assert.deepEqual(headings, codes)
  for (const [code] of page.matchAll(/\bHDL_[A-Z_]+\b/g)) assert.ok(codes.includes(code), code)
})

test('the page matches the table: else run `npm run format`', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/docs-errors.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
})

test('each message on the page names its values: nothing is left of how the page is made', () => {
  for (const [line] of page.matchAll(/^> .*$/gm)) {
    assert.doesNotMatch(line, /NaN|undefined|=>|\[object|…\s*…/, line)
  }
})

test('every code that is mentioned anywhere exists', () => {
  const texts = files(
    'packages/*/src/**/*.ts',
    'docs/**/*.md',
    'README.md',
    'examples/**/*.{ts,md}',
  )
  for (const file of texts) {
    for (const [code] of read(file).matchAll(/\bHDL_[A-Z]+(?:_[A-Z]+)*\b/g)) {
      assert.ok(codes.includes(code) || warnings.includes(code), `${file} mentions ${code}`)
    }
  }
})

/** Codes of process warnings, which are not errors. */
const warnings = ['HDL_OBSERVER_FAILED', 'HDL_UNKNOWN_STATE']

test('every code is used somewhere', () => {
  const code = files('packages/*/src/**/*.ts')
    .filter((file) => !file.endsWith('/errors.ts'))
    .map(read)
    .join('\n')
  const unused = codes.filter((name) => !code.includes(`'${name}'`) && name !== 'HDL_CANCELLED')
  assert.deepEqual(unused, planned)
})

/** Promised by the founding design for packages that are not there yet. */
const planned: string[] = []
