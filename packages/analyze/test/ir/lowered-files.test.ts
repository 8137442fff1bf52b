import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import type { ParsedFile } from '../../src/frontend/parse.ts'
import { buildProgram } from '../../src/ir/build.ts'
import type { Built } from '../../src/ir/build.ts'
import { LoweredFiles } from '../../src/ir/lowered-files.ts'

function build(files: readonly ParsedFile[], known: LoweredFiles): Built {
  const resolve = (): undefined => undefined
  return buildProgram({ root: '/program', files, known, resolve })
}

const stays = parseSource('/program/a.ts', 'export function a() {}')
const changes = parseSource('/program/b.ts', 'export function b() {}')
const changed = parseSource('/program/b.ts', 'export function c() {}')

test('only files with another tree are lowered again', () => {
  const known = new LoweredFiles()
  const first = build([stays, changes], known)
  const [a, b] = first.program.files
  first.giveBack()
  const [sameA, newB] = build([stays, changed], known).program.files
  assert.equal(sameA, a)
  assert.notEqual(newB, b)
  assert.equal(newB?.units[1]?.name, 'c')
})

test('I1: a file of one program is in no other program', () => {
  const known = new LoweredFiles()
  const first = build([stays], known)
  assert.notEqual(build([stays], known).program.files[0], first.program.files[0])
  first.giveBack()
  assert.equal(known.take(stays)?.lowered.file, first.program.files[0])
  assert.equal(known.take(stays), undefined)
})

test('code that could not be followed in a file is reported each time', () => {
  const known = new LoweredFiles()
  const deep = parseSource('/program/deep.ts', `f(${'['.repeat(700)}${']'.repeat(700)})`)
  const first = build([deep], known)
  assert.equal(first.diagnostics[0]?.kind, 'function-too-complex')
  first.giveBack()
  assert.deepEqual(build([deep], known).diagnostics, first.diagnostics)
})
