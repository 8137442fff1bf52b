import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { RowResult } from '../harness/row.ts'
import { corpusVariable } from '../suites/analyze/needs.ts'
import { typedSources, untypedSources } from '../suites/analyze/sources.ts'
import { takeOwnLock } from './own-lock.ts'

takeOwnLock()

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

test('without the corpus nothing is claimed: ours is null, and the reason is reported', async () => {
  const nowhere = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-test-'))
  try {
    const args = ['analyze', '--json', '--quick', '--offline', '--only', 'watch']
    const { code, stdout } = await new Promise<{ code: unknown; stdout: string }>((resolve) => {
      const env = { ...process.env, TMPDIR: nowhere }
      execFile(
        process.execPath,
        ['--conditions=heddle-source', main, ...args],
        { env },
        (error, output) => resolve({ code: error?.code ?? 0, stdout: output }),
      )
    })
    const rows = JSON.parse(stdout) as RowResult[]
    assert.equal(code, 1)
    assert.deepEqual(
      rows.map(({ name, ours }) => [name, ours]),
      [
        ['watch, one file edited', null],
        ['watch, one file edited: a declaration edited', null],
        ['watch, one file edited: memory', null],
      ],
    )
    assert.match(rows[0]!.notes.join(), /the corpus is not there/)
  } finally {
    rmSync(nowhere, { recursive: true })
  }
})

test('every entrant gets the same files: sources, until there are enough lines', () => {
  const corpus = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-test-'))
  process.env[corpusVariable] = corpus
  try {
    const write = (name: string, text: string): void => {
      const file = path.join(corpus, name)
      mkdirSync(path.dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    write('mongodb/src/a.ts', '1\n2\n3')
    write('mongodb/src/b.ts', '1')
    write('mongodb/lib/a.js', '1')
    write('eslint/lib/a.js', '1\n2')
    write('eslint/lib/a.d.ts', '1')
    write('eslint/dist/a.js', '1')
    write('eslint/node_modules/x/a.js', '1')
    write('fastify/bundle.js', 'a;'.repeat(50_000))
    const names = (files: readonly string[]): readonly string[] =>
      files.map((file) => path.relative(corpus, file))
    assert.deepEqual(names(typedSources(100).files), ['mongodb/src/a.ts', 'mongodb/src/b.ts'])
    assert.deepEqual(names(typedSources(2).files), ['mongodb/src/a.ts'])
    assert.equal(typedSources(100).lines, 4)
    assert.deepEqual(names(untypedSources(100).files), ['eslint/lib/a.js'])
  } finally {
    delete process.env[corpusVariable]
    rmSync(corpus, { recursive: true })
  }
})
